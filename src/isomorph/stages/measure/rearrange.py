"""The same values in another shape: an axis squeezed, or the axes permuted.

Accepted only where exactly one rearrangement fits, and fits by value; never by broadcasting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.measure.judge import judge
from isomorph.stages.measure.spread import Spread, merged

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.stages.measure.verdict import Evidence

_MOST_AXES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangement:
    """How the candidate's axes become the reference's: a permutation, then a reshape."""

    permutation: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def words(self) -> str:
        """What a user reads."""
        moved = list(self.permutation) != sorted(self.permutation)
        if moved:
            return f"axes permuted by {self.permutation}"
        return f"axes of size one added or removed (now {'×'.join(map(str, self.shape))})"

    def array(self, array: Array) -> Array:
        """One tensor rearranged."""
        return array.transpose(self.permutation).reshape(self.shape)

    def spread(self, spread: Spread) -> Spread:
        """A spread rearranged with its tensor."""
        deviation = None if spread.deviation is None else self.array(spread.deviation)
        return replace(spread, deviation=deviation, unsettled=self.array(spread.unsettled))

    def applied(self, evidence: Evidence) -> Evidence:
        """Everything known of an output, rearranged."""

        def written() -> Array | None:
            array = evidence.as_written()
            return None if array is None else self.array(array)

        return replace(
            evidence,
            run=None if evidence.run is None else self.array(evidence.run),
            meaning=None if evidence.meaning is None else self.array(evidence.meaning),
            rounding=None if evidence.rounding is None else self.spread(evidence.rounding),
            execution=None if evidence.execution is None else self.spread(evidence.execution),
            as_written=written,
        )


def rearrangement(
    reference: Evidence, candidate: Evidence, false_alarm: float
) -> Rearrangement | None:
    """The one rearrangement under which the candidate's values are the reference's."""
    mine = reference.meaning if reference.meaning is not None else reference.run
    yours = candidate.meaning if candidate.meaning is not None else candidate.run
    if mine is None or yours is None or mine.size != yours.size or yours.ndim > _MOST_AXES:
        return None
    core = [size for size in mine.shape if size != 1]
    fits = []
    for order in _orders(yours.shape):
        if [yours.shape[axis] for axis in order if yours.shape[axis] != 1] != core:
            continue
        tried = Rearrangement(permutation=order, shape=tuple(mine.shape))
        other = tried.applied(candidate)
        spread = merged(reference.rounding, other.rounding)
        part = judge(
            tried.array(yours),
            mine,
            spread,
            dtype="float32",
            derivation="",
            false_alarm=false_alarm,
        )
        if part.budget.ratio is not None and part.budget.ratio <= 1.0:
            fits.append(tried)
    distinct = {tried.array(np.arange(yours.size).reshape(yours.shape)).tobytes() for tried in fits}
    if len(distinct) == 1:
        return fits[0]
    in_order = Rearrangement(permutation=tuple(range(yours.ndim)), shape=tuple(mine.shape))
    # No order fits by value: a squeeze alone keeps the order, so it can still be measured.
    kept = [size for size in yours.shape if size != 1]
    return in_order if not fits and kept == core else None


def _orders(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Permutations of the axes; those of size one stay in their order, they cannot matter."""
    units = [axis for axis, size in enumerate(shape) if size == 1]
    others = [axis for axis, size in enumerate(shape) if size != 1]
    return [(*units, *order) for order in permutations(others)]
