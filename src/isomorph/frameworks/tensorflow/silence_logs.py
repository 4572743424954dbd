"""TensorFlow talks while it is imported and while it works; a user can do nothing about it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from isomorph.core.lazy import require


def import_tensorflow(needed_for: str) -> Any:  # noqa: ANN401
    """TensorFlow, imported without its greetings, with Keras on top of it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "keras" not in sys.modules:
        # Whatever backend the user trains with, here the model runs in TensorFlow.
        os.environ["KERAS_BACKEND"] = "tensorflow"
    return import_quietly("tensorflow", needed_for)


def import_quietly(package: str, needed_for: str) -> Any:  # noqa: ANN401
    """A package of TensorFlow's family; nothing is printed, and nothing written at home."""
    if package in sys.modules:
        return sys.modules[package]
    with quietly(), _keras_away_from_home():
        return require(package, extra="tensorflow", needed_for=needed_for)


@contextmanager
def _keras_away_from_home() -> Iterator[None]:
    """Keras leaves a file with its defaults in the user's home, unless there is one already."""
    word = "KERAS_HOME"
    if word in os.environ or (Path.home() / ".keras" / "keras.json").exists():
        yield
        return
    with TemporaryDirectory(prefix="isomorph-") as folder:
        os.environ[word] = folder
        try:
            yield
        finally:
            os.environ.pop(word, None)


@contextmanager
def quietly() -> Iterator[None]:
    """No warnings, no log lines below an error, and nothing that native code prints to stderr."""
    loggers = [logging.getLogger(name) for name in ("tensorflow", "absl", "keras")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), _silent_stderr():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _silent_stderr() -> Iterator[None]:
    # Its C++ half writes to the descriptor, past everything that Python could redirect.
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
