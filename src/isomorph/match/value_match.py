"""Which tensors of the candidate hold the values of which tensors of the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, permutations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import threshold, usual_peak
from isomorph.core.limits import AXIS_ORDERS
from isomorph.match.axis_layout import Rearrangement, arrangements
from isomorph.match.fingerprint_index import Index, alike
from isomorph.match.tensor_capture import TensorCapture, apart
from isomorph.oracle.fingerprint import FLOAT64_ORDER, Fingerprint, fingerprint
from isomorph.oracle.noise_stats import within

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_MOST_JOINED = 4


class ValueMatcher:
    """The reference's values, indexed, and the tolerance for each pair.

    ``same_axes``: both sides are of one framework and were fed tensors of the same shapes, so an
    output of another shape is wrong, whatever its values are.
    """

    def __init__(
        self, reference: TensorCapture, candidate: TensorCapture, *, same_axes: bool = False
    ) -> None:
        self.reference, self.candidate, self.same_axes = reference, candidate, same_axes
        self._index = Index(reference.prints, reference.spread)

    def tolerance(self, ref: str, cand: str) -> float:
        """The rms by which these two may differ and still be equal."""
        noise = math.hypot(self.reference.spread[ref], self.candidate.spread[cand])
        mark = self.reference.prints[ref]
        # A root mean square stays below the bound of the largest element, however the noise
        # of one element goes with that of the others.
        return threshold(mark.elements) * noise + FLOAT64_ORDER * mark.rms

    def reach(self, ref: str, cand: str) -> float:
        """How far a single element of these two may be apart."""
        mark = self.reference.prints[ref]
        bound = threshold(mark.elements)
        peak = self.reference.peak[ref] + self.candidate.peak[cand]
        # The draws have shown how far the noise usually goes, not how far it can go.
        beyond = bound / usual_peak(mark.elements * self.candidate.draws)
        return beyond * peak + bound * FLOAT64_ORDER * mark.rms

    def equal(self, ref: str, cand: str, left: Array, right: Array) -> bool:
        """Whether two arrays of one shape are these tensors' values but for noise."""
        rms, largest = apart(left, right)
        if not (rms <= self.tolerance(ref, cand) and largest <= self.reach(ref, cand)):
            return False
        return ref not in self.reference.unseen or self._small_ones(ref, cand, left, right)

    def _small_ones(self, ref: str, cand: str, left: Array, right: Array) -> bool:
        """Whether the elements that drown in the noise of the large ones are equal, too."""
        limit, spread, peak = self.reference.unseen[ref]
        _, other, highest = self.candidate.unseen.get(cand, (0.0, 0.0, 0.0))
        small = within(left, limit)
        rms, largest = apart(left[small], right[small])
        count = int(np.count_nonzero(small))
        size = FLOAT64_ORDER * apart(left[small], np.zeros(count))[0]
        bound = threshold(count)
        beyond = bound / usual_peak(count * self.candidate.draws)
        return rms <= bound * math.hypot(spread, other) + size and largest <= (
            beyond * (peak + highest) + bound * size
        )

    def of(self, cand: str, value: Array) -> Iterator[str]:
        """The reference's tensors that hold the values of this one, in any arrangement."""
        mark = fingerprint(value)
        noise = self.candidate.spread[cand]
        for ref in self._index.near(mark, noise, threshold(mark.elements)):
            other = self.reference.prints[ref]
            if alike(other, mark, self.tolerance(ref, cand), self.reach(ref, cand)):
                yield ref

    def near(self, mark: Fingerprint, noise: float) -> Iterator[str]:
        """Floats of the reference that are of this size, up to that noise."""
        for mine in self._index.near(mark, noise, threshold(mark.elements)):
            other = self.reference.prints[mine]
            width = threshold(mark.elements) * math.hypot(noise, self.reference.spread[mine])
            if alike(other, mark, width, math.inf):
                yield mine

    def like(self, mine: str, most: int) -> list[str]:
        """Other tensors of the reference that hold the values of this one, at most so many."""
        mark, noise = self.reference.prints[mine], self.reference.spread[mine]
        found: list[str] = []
        for other in self._index.near(mark, noise, threshold(mark.elements)):
            width = threshold(mark.elements) * max(noise, self.reference.spread[other])
            width += FLOAT64_ORDER * mark.rms
            if other != mine and alike(self.reference.prints[other], mark, width, math.inf):
                found.append(other)
                if len(found) == most:
                    break
        return found

    def pair(self, cand: str, value: Array) -> tuple[str, Rearrangement] | None:
        """The twin that this tensor equals element by element.

        The plainest arrangement first, then the same kind of numbers, made by the same operator:
        a mask of zeros and ones equals the truth values that are made of it.
        """
        best: tuple[tuple[bool, ...], tuple[str, Rearrangement]] | None = None
        made_by = _operator(self.candidate, cand)
        for ref, found in self.pairs(cand, value):
            other_kind = self.reference.values[ref].dtype.kind != value.dtype.kind
            unlike = found.moves, other_kind, _operator(self.reference, ref) != made_by
            if not any(unlike):
                return ref, found
            if best is None or unlike < best[0]:
                best = unlike, (ref, found)
        return best[1] if best is not None else None

    def pairs(self, cand: str, value: Array) -> Iterator[tuple[str, Rearrangement]]:
        """Every twin that this tensor equals element by element."""
        for ref in self.of(cand, value):
            found = self.arranged(ref, cand, value)
            if found is not None:
                yield ref, found

    def arranged(self, ref: str, cand: str, value: Array) -> Rearrangement | None:
        """How the reference's tensor becomes the candidate's, element by element."""
        source = self.reference.values[ref]
        for moved in ways(source, value.shape):
            if self.equal(ref, cand, moved.array(source), value):
                return moved
        return None


def _operator(capture: TensorCapture, tensor: str) -> str | None:
    maker = capture.topology.maker.get(tensor)
    return maker.op if maker is not None else None


def placements(weight: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    """A weight in another shape: rearranged, or with neighboring axes joined in any order.

    What one framework keeps by head and by feature, another keeps as one matrix.
    """
    yield from (moved.array(weight) for moved in ways(weight, shape))
    if sum(size > 1 for size in shape) < weight.ndim <= _MOST_JOINED:
        for order in islice(permutations(range(weight.ndim)), 1, None):
            sizes = [weight.shape[axis] for axis in order]
            if set(np.cumprod(shape).tolist()) <= {1, *np.cumprod(sizes).tolist()}:
                yield weight.transpose(order).reshape(shape)


def ways(source: Array, shape: tuple[int, ...]) -> Iterator[Rearrangement]:
    """Arrangements of a tensor into a shape, the plainest first; a reshape of all axes last."""
    if source.shape == shape:
        yield Rearrangement(permutation=tuple(range(source.ndim)), shape=shape)
    found = sorted(arrangements(source.shape, shape), key=lambda moved: moved.moves)
    for moved in AXIS_ORDERS.first(found):
        if moved.moves or source.shape != shape:
            yield moved
    if not found and source.size == int(np.prod(shape)):
        yield Rearrangement(permutation=tuple(range(source.ndim)), shape=shape)
