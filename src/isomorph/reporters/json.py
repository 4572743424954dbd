"""The report as one JSON document: lossless, and equal for equal reports."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.report import Report


class JsonReporter:
    """One JSON document; ``schema`` rises with every incompatible change."""

    name = "json"
    profile = None
    """The error node by node where it costs little: where faulty nodes were searched anyway."""

    def render(self, report: Report) -> str:
        """Sorted keys, so that equal reports are equal bytes."""
        return as_json(report)


def as_json(value: Any, *, compact: bool = False) -> str:  # noqa: ANN401
    """Any of our nouns as JSON text, in ASCII, with sorted keys; ``compact`` on one line."""
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False, **layout)


def schema(document: str = "report") -> dict[str, Any]:
    """The JSON Schema that every rendered report (or ``repair``) satisfies."""
    named = f"{document}.schema.json"
    text = files("isomorph.reporters").joinpath(named).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _plain(value: Any) -> Any:  # noqa: ANN401
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    # Numbers out of a framework's array become plain ones by tolist().
    if not isinstance(value, (str, int, float, bool, type(None))) and hasattr(value, "tolist"):
        return _plain(value.tolist())
    # JSON has no NaN or infinity, and here they are results, not accidents.
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (str, int, float, type(None))) else str(value)
