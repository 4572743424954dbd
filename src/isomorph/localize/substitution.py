"""What may be put in the place of what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.match.axis_layout import Rearrangement

if TYPE_CHECKING:
    from isomorph.match.tensor_capture import TensorCapture


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """Put this tensor of the reference in the place of that one of the candidate."""

    tensor: str
    counterpart: str
    moved: Rearrangement
    permuted: bool


def as_it_is(reference: TensorCapture, tensor: str, counterpart: str) -> Substitution:
    """The reference's tensor in its own shape."""
    shape = reference.values[counterpart].shape
    moved = Rearrangement(permutation=tuple(range(len(shape))), shape=shape)
    return Substitution(tensor=tensor, counterpart=counterpart, moved=moved, permuted=False)
