"""A tensor of the reference that may replace one of the candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.match.axis_layout import Rearrangement

if TYPE_CHECKING:
    from isomorph.match.tensor_capture import TensorCapture


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """Replace ``tensor`` of the candidate by ``counterpart`` of the reference."""

    tensor: str
    counterpart: str
    moved: Rearrangement
    permuted: bool


def unreshaped(reference: TensorCapture, tensor: str, counterpart: str) -> Substitution:
    """Substitute the reference's tensor in its own shape."""
    shape = reference.values[counterpart].shape
    moved = Rearrangement(permutation=tuple(range(len(shape))), shape=shape)
    return Substitution(tensor=tensor, counterpart=counterpart, moved=moved, permuted=False)
