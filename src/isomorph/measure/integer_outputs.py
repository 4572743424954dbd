"""Integers of the reference that the candidate's floating-point output cannot hold.

An integer has no rounding. Where the candidate gives floats, integers beyond the digits of their
type come out as others, and the rounding budget of the type would excuse that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Verdict
from isomorph.core.messages import message
from isomorph.measure.distance import float_info, is_integer
from isomorph.measure.reached_values import never_moved

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.trace import Array
    from isomorph.measure.spread import Spread


def judged_as_integers(
    judged: Divergence, reference: Array | None, candidate: Array | None, rounding: Spread | None
) -> Divergence:
    """Return the judgment, as divergent where an integer that no rounding moved is another one."""
    if judged.verdict is not Verdict.EQUIVALENT or reference is None or candidate is None:
        return judged
    if not is_integer(reference) or candidate.dtype.kind != "f" or rounding is None:
        return judged
    if reference.shape != candidate.shape:
        return judged
    lost = _beyond_digits(reference, candidate)
    if rounding.deviation is not None:
        lost &= np.asarray(rounding.deviation == 0)
    if rounding.reached:
        lost &= never_moved(rounding.reached)
    if not lost.any():
        return judged
    place = np.flatnonzero(lost)[0]
    right, wrong = int(reference.flat[place]), float(candidate.flat[place])
    reason = message("DIVERGENT.integers", dtype=candidate.dtype, right=right, now=wrong)
    return replace(judged, verdict=Verdict.DIVERGENT, reason=reason)


def _beyond_digits(reference: Array, candidate: Array) -> Array:
    """The integers that need more digits than the candidate's type has, and differ there."""
    most = 2 ** (float_info(str(candidate.dtype)).nmant + 1)
    found = np.zeros(reference.shape, bool)
    for place in np.flatnonzero((reference > most) | (reference < -most)):
        value = float(candidate.flat[place])
        found.flat[place] = not np.isfinite(value) or int(value) != int(reference.flat[place])
    return found
