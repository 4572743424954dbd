"""Both models' tensors, computed once and ready to be matched by value."""

from __future__ import annotations

from isomorph.match.tensor_capture import DRAWS, Sight
from isomorph.match.value_match import Twins
from isomorph.measure.parallel import at_once


def look_at(
    reference: Sight,
    candidate: Sight,
    *,
    draws: int = DRAWS,
    apart: bool = False,
    same_axes: bool = False,
) -> Twins:
    """Compute both sides once; at the same time where their workers stand ``apart``."""
    at_once(lambda: reference.look(draws), lambda: candidate.look(draws), apart=apart)
    return Twins(reference, candidate, same_axes=same_axes)
