"""Patches as JSON and back: each edit under its own word, for the codec knows no unions."""

from __future__ import annotations

from typing import Any

from isomorph.core.patch import EDITS, Edit, EditBody, Patch
from isomorph.store.codec import decode, encode


def patch_to_data(patch: Patch) -> dict[str, Any]:
    """What crosses to a worker, or into a file."""
    return {
        "summary": patch.summary,
        "edits": [_edit_to_data(edit) for edit in patch.edits],
    }


def patch_from_data(data: dict[str, Any]) -> Patch:
    """The patch that ``patch_to_data`` was given."""
    return Patch(
        summary=data["summary"],
        edits=tuple(_edit_from_data(each) for each in data["edits"]),
    )


def _edit_to_data(edit: Edit) -> list[Any]:
    if isinstance(edit, EditBody):
        inner = [_edit_to_data(each) for each in edit.edits]
        return ["EditBody", {"node": edit.node, "body": edit.body, "edits": inner}]
    return [type(edit).__name__, encode(edit)]


def _edit_from_data(data: list[Any]) -> Edit:
    word, held = data
    if EDITS[word] is EditBody:
        inner = tuple(_edit_from_data(each) for each in held["edits"])
        return EditBody(node=held["node"], body=held["body"], edits=inner)
    edit: Edit = decode(EDITS[word], held)
    return edit
