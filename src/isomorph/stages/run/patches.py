"""Patches as JSON and back: each edit under its own word, for the codec knows no unions."""

from __future__ import annotations

from typing import Any

from isomorph.core.patch import EDITS, Patch
from isomorph.stages.run.codec import decode, encode


def patch_to_data(patch: Patch) -> dict[str, Any]:
    """What crosses to a worker, or into a file."""
    return {
        "summary": patch.summary,
        "edits": [[type(edit).__name__, encode(edit)] for edit in patch.edits],
    }


def patch_from_data(data: dict[str, Any]) -> Patch:
    """The patch that ``patch_to_data`` was given."""
    return Patch(
        summary=data["summary"],
        edits=tuple(decode(EDITS[word], edit) for word, edit in data["edits"]),
    )
