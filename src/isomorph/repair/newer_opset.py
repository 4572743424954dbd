"""A patch that takes a newer operator set than the candidate has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.patch import RaiseOpset

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.repair import Applied


def raised_opset(before: Model, after: Model) -> tuple[int, int] | None:
    """The operator set before and after, where the edits took a newer one."""
    old, new = before.opset.get(""), after.opset.get("")
    return (old, new) if old is not None and new is not None and new > old else None


def with_newer_opset(applied: Applied, taken: tuple[int, int]) -> Applied:
    """The patch, with the newer operator set that it took, as an edit and in words."""
    old, new = taken
    patch = replace(
        applied.patch,
        summary=message("PATCH.newer_opset", patch=applied.patch.summary, before=old, after=new),
        edits=(*applied.patch.edits, RaiseOpset(version=new)),
    )
    return replace(applied, patch=patch)
