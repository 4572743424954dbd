"""ONNX Runtime, imported so that it keeps what it sees to itself."""

from __future__ import annotations

import os
from typing import Any

from isomorph.core.lazy import require

_SWITCH = "ORT_DISABLE_TELEMETRY"


def onnxruntime(needed_for: str, *, part: str = "") -> Any:  # noqa: ANN401
    """The package, or one of its modules; whoever wants its telemetry sets the switch to 0."""
    # Without this, importing it writes a device identifier into the user's cache and a session
    # file into the temporary folder, and reports to its makers: no part of checking a model.
    os.environ.setdefault(_SWITCH, "1")
    name = f"onnxruntime.{part}" if part else "onnxruntime"
    return require(name, extra="all", needed_for=needed_for)
