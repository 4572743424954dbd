"""TensorFlow talks while it is imported and while it works; a user can do nothing about it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from isomorph.core.lazy import require


def import_tensorflow(needed_for: str) -> Any:  # noqa: ANN401
    """TensorFlow, imported without its greetings, with Keras on top of it."""
    if "tensorflow" in sys.modules:
        return sys.modules["tensorflow"]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "keras" not in sys.modules:
        # Whatever backend the user trains with, here the model runs in TensorFlow.
        os.environ["KERAS_BACKEND"] = "tensorflow"
    with quietly():
        return require("tensorflow", extra="tensorflow", needed_for=needed_for)


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
