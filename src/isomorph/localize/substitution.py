"""What may be put in the place of what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.match.axis_layout import Rearrangement

if TYPE_CHECKING:
    from isomorph.match.tensor_capture import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Put this tensor of the reference in the place of that one of the candidate."""

    tensor: str
    counterpart: str
    moved: Rearrangement
    scattered: bool


def as_it_is(reference: Sight, tensor: str, counterpart: str) -> Proposal:
    """The reference's tensor in its own shape."""
    shape = reference.values[counterpart].shape
    moved = Rearrangement(permutation=tuple(range(len(shape))), shape=shape)
    return Proposal(tensor=tensor, counterpart=counterpart, moved=moved, scattered=False)
