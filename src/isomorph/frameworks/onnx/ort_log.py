"""Messages of ONNX Runtime's own log about a node while it loads a model."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.escaping import printable
from isomorph.frameworks.onnx.ort_session import open_deployed

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.model import OnnxModel
    from isomorph.frameworks.onnx.ort_settings import Settings

MOST_LINES = 5
"""Lines that are kept: evidence, not a transcript."""

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
# The time of day comes first; it would make two reports of the same run differ.
_CLOCK = re.compile(r"^\d{4}-\d{2}-\d{2} [\d:.]+ ")
_PASS = re.compile(r"GraphTransformer (\S+) modified: 1\b")
# A node that takes the place of others is called after one of them, with one of these behind.
_SUCCESSOR = r"(?:[_/]\w*(?i:nchwc|nhwc|fus|token|quant)\w*)?"


def log_about(
    ort: Any,  # noqa: ANN401
    settings: Settings,
    model: OnnxModel,
    *,
    file: str,
) -> tuple[str, ...]:
    """The first few lines that mention one of ``settings.about``; names are nodes or optimizers."""
    return mentioned(talk(ort, settings, model, file=file), settings.about)


def talk(
    ort: Any,  # noqa: ANN401
    settings: Settings,
    model: OnnxModel,
    *,
    file: str,
) -> str:
    """All that ONNX Runtime logs while it opens the model once more, at its most talkative."""
    with _overheard() as log:
        open_deployed(ort, replace(settings, talkative=True), model, file=file)
        log.seek(0)
        return bytes(log.read()).decode("utf-8", "replace")


def mentioned(log: str, names: Sequence[str]) -> tuple[str, ...]:
    """The lines about these names, each once, on one line of printable characters."""
    wanted = [_mention(name) for name in names if name]
    found: dict[str, None] = {}
    for line in log.splitlines():
        text = _CLOCK.sub("", _COLOR.sub("", line)).strip()
        ran = _PASS.search(text)
        if (ran and ran[1] in names) or (not ran and any(each.search(text) for each in wanted)):
            found[printable(text)] = None
        if len(found) == MOST_LINES:
            break
    return tuple(found)


def _mention(name: str) -> re.Pattern[str]:
    """A name in quotes or brackets; bare only if it cannot be a word of an English sentence."""
    spelled = re.escape(name) + _SUCCESSOR
    enclosed = rf"['\"`(\[](?:fused )?{spelled}['\"`)\]]"
    if name.isalpha():
        return re.compile(enclosed)
    return re.compile(rf"{enclosed}|(?<![\w/.:-]){spelled}(?![\w/-])")


@contextmanager
def _overheard() -> Iterator[Any]:
    """What compiled code writes to the standard error, in a file instead."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield log
        finally:
            os.dup2(kept, 2)
            os.close(kept)
