"""The report as one JSON document: lossless, and equal for equal reports."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from isomorph.store.codec import to_document

if TYPE_CHECKING:
    from isomorph.core.report import Report


class JsonReporter:
    """One JSON document; ``revision`` rises with every change of a name in it."""

    name = "json"
    profile = False
    follows = False

    def render(self, report: Report) -> str:
        """Sorted keys, so that equal reports are equal bytes."""
        return as_json(report)


def as_json(value: Any, *, compact: bool = False) -> str:  # noqa: ANN401
    """Any dataclass as JSON text, in ASCII, with sorted keys; ``compact`` on one line."""
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    return json.dumps(to_document(value), sort_keys=True, allow_nan=False, **layout)


def schema(document: str = "report") -> dict[str, Any]:
    """The JSON Schema that every rendered report (or ``repair``) satisfies."""
    loaded: dict[str, Any] = json.loads(schema_text(document))
    return loaded


def schema_text(document: str) -> str:
    """The JSON Schema as it ships."""
    named = f"{document}.schema.json"
    return files("isomorph.reporters").joinpath(named).read_text(encoding="utf-8")
