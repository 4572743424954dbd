"""Which tensors of the candidate hold the values of which tensors of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.align.fingerprint import Index, alike, fingerprint
from isomorph.stages.align.sight import Sight, apart
from isomorph.stages.run.layout import Rearrangement, arrangements

if TYPE_CHECKING:
    from isomorph.core.trace import Array

DEVIATIONS = 6.0
"""How many root mean squares of the noise two equal tensors may be apart."""

_MOST_ARRANGEMENTS = 24


class Twins:
    """The reference's values, indexed, and the tolerance for each pair."""

    def __init__(self, reference: Sight, candidate: Sight) -> None:
        self.reference, self.candidate = reference, candidate
        self._index = Index(reference.prints)

    def tolerance(self, mine: str, yours: str) -> float:
        """The rms by which these two may differ and still be equal."""
        noise = np.hypot(self.reference.spread[mine], self.candidate.spread[yours])
        # Two float64 evaluations in another order differ by their own rounding.
        floor = 2.0**-40 * self.reference.prints[mine].rms
        return float(DEVIATIONS * noise + floor)

    def equal(self, mine: str, yours: str, left: Array, right: Array) -> bool:
        """Whether two arrays of one shape are these tensors' values but for noise."""
        rms, largest = apart(left, right)
        peak = self.reference.peak[mine] + self.candidate.peak[yours]
        floor = 2.0**-40 * self.reference.prints[mine].rms
        return rms <= self.tolerance(mine, yours) and largest <= 2.0 * peak + DEVIATIONS * floor

    def of(self, yours: str, value: Array) -> list[str]:
        """The reference's tensors that hold the values of this one, in any arrangement."""
        mark = fingerprint(value)
        widest = DEVIATIONS * 2.0 * max(self.candidate.spread[yours], 2.0**-40 * mark.rms)
        # The index is searched generously: the reference's own noise is not known yet.
        near = self._index.near(mark, max(widest, 1e-3 * mark.rms))
        return [
            mine
            for mine in near
            if alike(self.reference.prints[mine], mark, self.tolerance(mine, yours))
        ]

    def pair(self, yours: str, value: Array) -> tuple[str, Rearrangement] | None:
        """The twin that this tensor equals element by element, plainest arrangement first."""
        moved = None
        for mine, found in self.pairs(yours, value):
            if not found.moves:
                return mine, found
            moved = moved or (mine, found)
        return moved

    def pairs(self, yours: str, value: Array) -> Iterator[tuple[str, Rearrangement]]:
        """Every twin that this tensor equals element by element."""
        for mine in self.of(yours, value):
            found = self.arranged(mine, yours, value)
            if found is not None:
                yield mine, found

    def arranged(self, mine: str, yours: str, value: Array) -> Rearrangement | None:
        """How the reference's tensor becomes the candidate's, element by element."""
        source = self.reference.values[mine]
        for moved in ways(source, value.shape):
            if self.equal(mine, yours, moved.array(source), value):
                return moved
        return None


def ways(source: Array, shape: tuple[int, ...]) -> Iterator[Rearrangement]:
    """Arrangements of a tensor into a shape, the plainest first; a reshape of all axes last."""
    if source.shape == shape:
        yield Rearrangement(permutation=tuple(range(source.ndim)), shape=shape)
    found = sorted(arrangements(source.shape, shape), key=lambda moved: moved.moves)
    for moved in found[:_MOST_ARRANGEMENTS]:
        if moved.moves or source.shape != shape:
            yield moved
    if not found and source.size == int(np.prod(shape)):
        yield Rearrangement(permutation=tuple(range(source.ndim)), shape=shape)
