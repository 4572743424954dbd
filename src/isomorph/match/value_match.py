"""Match tensors of the candidate with tensors of the reference that hold the same values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate, islice, permutations
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import threshold, usual_peak
from isomorph.core.limits import AXIS_ORDERS, MERGED_AXES
from isomorph.match.axis_layout import Rearrangement, arrangements
from isomorph.match.fingerprint_index import FingerprintIndex, may_be_equal
from isomorph.match.tensor_capture import TensorCapture
from isomorph.oracle.fingerprint import FLOAT64_ORDER, Fingerprint, fingerprint
from isomorph.oracle.noise_stats import within
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.trace import Array


Pairing = tuple[str, Rearrangement]
"""A tensor of the reference, and how it is rearranged to equal one of the candidate."""

_CASTS = frozenset({"Cast", "CastLike"})


class ValueMatcher:
    """Finds the reference's tensors with the values of one of the candidate, up to noise.

    ``same_axes``: both models are of one framework and were fed tensors of the same shapes, so an
    output of another shape is wrong, whatever its values are.
    """

    def __init__(
        self, reference: TensorCapture, candidate: TensorCapture, *, same_axes: bool = False
    ) -> None:
        self.reference, self.candidate, self.same_axes = reference, candidate, same_axes
        self._index = FingerprintIndex(reference.prints, reference.spread)
        self._captured: dict[str, Pairing | None] = {}
        self._substituted: tuple[Mapping[str, Array], Mapping[str, Pairing | None]] = ({}, {})
        """The tensors that were substituted last, and all pairs with them."""

    def tolerance(self, ref: str, cand: str) -> float:
        """Return the rms by which these two may differ and still be equal."""
        noise = math.hypot(self.reference.spread[ref], self.candidate.spread[cand])
        mark = self.reference.prints[ref]
        # The rms stays below the bound of the largest element, however the noise of one element
        # correlates with that of the others.
        return threshold(mark.elements) * noise + FLOAT64_ORDER * mark.rms

    def max_difference(self, ref: str, cand: str) -> float:
        """Return the difference that a single element of these two may have."""
        mark = self.reference.prints[ref]
        bound = threshold(mark.elements)
        peak = self.reference.peak[ref] + self.candidate.peak[cand]
        # The peak of the draws is what the noise usually reaches, not its maximum.
        beyond = bound / usual_peak(mark.elements * self.candidate.draws)
        return beyond * peak + bound * FLOAT64_ORDER * mark.rms

    def equal(self, ref: str, cand: str, left: Array, right: Array) -> bool:
        """Whether two arrays of one shape, values of these tensors, are equal up to noise."""
        rms, largest = rms_and_peak(left, right)
        if not (rms <= self.tolerance(ref, cand) and largest <= self.max_difference(ref, cand)):
            return False
        return ref not in self.reference.unseen or self._small_elements_equal(
            ref, cand, left, right
        )

    def _small_elements_equal(self, ref: str, cand: str, left: Array, right: Array) -> bool:
        """Whether the elements below the noise of the large ones are equal as well."""
        limit, spread, peak = self.reference.unseen[ref]
        _, other, highest = self.candidate.unseen.get(cand, (0.0, 0.0, 0.0))
        small = within(left, limit)
        rms, largest = rms_and_peak(left[small], right[small])
        count = int(np.count_nonzero(small))
        size = FLOAT64_ORDER * rms_and_peak(left[small], np.zeros(count))[0]
        bound = threshold(count)
        beyond = bound / usual_peak(count * self.candidate.draws)
        return rms <= bound * math.hypot(spread, other) + size and largest <= (
            beyond * (peak + highest) + bound * size
        )

    def of(self, cand: str, value: Array) -> Iterator[str]:
        """Yield the reference's tensors that may hold the values of this one, in any order."""
        yield from self._of(cand, fingerprint(value))

    def _of(self, cand: str, mark: Fingerprint) -> Iterator[str]:
        noise = self.candidate.spread[cand]
        for ref in self._index.near(mark, noise, threshold(mark.elements)):
            other = self.reference.prints[ref]
            if may_be_equal(other, mark, self.tolerance(ref, cand), self.max_difference(ref, cand)):
                yield ref

    def near(self, mark: Fingerprint, noise: float) -> Iterator[str]:
        """Yield the reference's tensors whose fingerprint is ``mark`` up to this noise."""
        for ref in self._index.near(mark, noise, threshold(mark.elements)):
            other = self.reference.prints[ref]
            width = threshold(mark.elements) * math.hypot(noise, self.reference.spread[ref])
            if may_be_equal(other, mark, width, math.inf):
                yield ref

    def equal_to(self, ref: str, most: int) -> list[str]:
        """Return at most ``most`` other tensors of the reference with the values of this one."""
        mark, noise = self.reference.prints[ref], self.reference.spread[ref]
        found: list[str] = []
        for other in self._index.near(mark, noise, threshold(mark.elements)):
            width = threshold(mark.elements) * max(noise, self.reference.spread[other])
            width += FLOAT64_ORDER * mark.rms
            if other != ref and may_be_equal(self.reference.prints[other], mark, width, math.inf):
                found.append(other)
                if len(found) == most:
                    break
        return found

    def all_pairs(self, given: Mapping[str, Array]) -> Mapping[str, Pairing | None]:
        """Return the counterpart of every tensor of the candidate with these replaced.

        What does not depend on them has the counterpart of its captured value. The search and the
        alignment ask for the same substitution one after the other: its pairs are kept.
        """
        last, kept = self._substituted
        if given and given.keys() == last.keys() and all(last[n] is given[n] for n in given):
            return kept
        values = self.candidate.with_given(given)
        changed = self.candidate.topology.below(given) | set(given)
        found = {
            name: self.pair(name, values[name]) if name in changed else self._captured_pair(name)
            for name in values
        }
        if given:
            self._substituted = dict(given), found
        return found

    def _captured_pair(self, cand: str) -> Pairing | None:
        if cand not in self._captured:
            value, mark = self.candidate.values[cand], self.candidate.prints.get(cand)
            self._captured[cand] = self._best(cand, value, self._pairs(cand, value, mark))
        return self._captured[cand]

    def pair(self, cand: str, value: Array) -> Pairing | None:
        """Return the reference's tensor that this one equals element by element.

        Unpermuted axes are preferred, then the same kind of numbers, then the same operator: a mask
        of zeros and ones equals the booleans that are computed from it.
        """
        return self._best(cand, value, self.pairs(cand, value))

    def _best(self, cand: str, value: Array, pairs: Iterator[Pairing]) -> Pairing | None:
        best: tuple[tuple[bool, ...], Pairing] | None = None
        made_by = _operator(self.candidate, cand)
        for ref, found in pairs:
            other_kind = self.reference.values[ref].dtype.kind != value.dtype.kind
            mismatch = found.moves, other_kind, _operator(self.reference, ref) != made_by
            if not any(mismatch):
                return ref, found
            if best is None or mismatch < best[0]:
                best = mismatch, (ref, found)
        return best[1] if best is not None else None

    def pairs(self, cand: str, value: Array) -> Iterator[Pairing]:
        """Yield every tensor of the reference that this one equals element by element."""
        return self._pairs(cand, value, None)

    def _pairs(self, cand: str, value: Array, mark: Fingerprint | None) -> Iterator[Pairing]:
        for ref in self._of(cand, fingerprint(value) if mark is None else mark):
            if self._equal_by_chance(ref, cand, value):
                continue
            found = self.arranged(ref, cand, value)
            if found is not None:
                yield ref, found

    def _equal_by_chance(self, ref: str, cand: str, value: Array) -> bool:
        """Whether booleans that are all the same equal numbers that no cast made of them."""
        kinds = {self.reference.values[ref].dtype.kind, value.dtype.kind}
        if len(kinds) == 1 or "b" not in kinds or not value.size or value.min() != value.max():
            return False
        return _CASTS.isdisjoint({_operator(self.reference, ref), _operator(self.candidate, cand)})

    def arranged(self, ref: str, cand: str, value: Array) -> Rearrangement | None:
        """Return the rearrangement in which the reference's tensor equals the candidate's."""
        source = self.reference.values[ref]
        for moved in rearrangements(source, value.shape):
            if self.equal(ref, cand, moved.array(source), value):
                return moved
        return None


def _operator(capture: TensorCapture, tensor: str) -> str | None:
    maker = capture.topology.maker.get(tensor)
    return maker.op if maker is not None else None


def weight_arrangements(weight: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    """Yield a weight in another shape: rearranged, or with axes permuted and merged.

    One framework stores axes for heads and features, another one matrix.
    """
    yield from (moved.array(weight) for moved in rearrangements(weight, shape))
    if sum(size > 1 for size in shape) >= weight.ndim:
        return
    if weight.ndim > MERGED_AXES.most:
        MERGED_AXES.reached()
    else:
        for order in _merging_orders(weight.shape, shape):
            yield weight.transpose(order).reshape(shape)


@lru_cache(maxsize=256)
def _merging_orders(sizes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the orders of axes, but the given one, that become the shape by merging neighbors."""
    ends = set(accumulate(shape, mul))
    orders = islice(permutations(range(len(sizes))), 1, None)
    return tuple(
        order for order in orders if ends <= {1, *accumulate((sizes[axis] for axis in order), mul)}
    )


def rearrangements(source: Array, shape: tuple[int, ...]) -> Iterator[Rearrangement]:
    """Yield rearrangements of a tensor into a shape: unpermuted first, a plain reshape last."""
    if source.shape == shape:
        yield Rearrangement(permutation=tuple(range(source.ndim)), shape=shape)
    found = sorted(arrangements(source.shape, shape), key=lambda moved: moved.moves)
    for moved in AXIS_ORDERS.first(found):
        if moved.moves or source.shape != shape:
            yield moved
    if not found and source.size == int(np.prod(shape)):
        yield Rearrangement(permutation=tuple(range(source.ndim)), shape=shape)
