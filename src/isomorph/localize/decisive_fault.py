"""Whether a faulty node alone proves that two graphs are different functions.

It does where its inputs are right, its result is far beyond anything that rounding or constants
rounded again do to it, and its correction makes every output agree. The budget of the outputs then
needs no further draws.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from isomorph.core.chance import student, threshold
from isomorph.core.stated_numbers import FIRST_DRAWS, FURTHER_DRAWS
from isomorph.core.trace import Noise
from isomorph.measure.comparand import unmatched_constants
from isomorph.oracle.fingerprint import FLOAT64_ORDER
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.localize.locate import Located
    from isomorph.match.tensor_capture import TensorCapture


def is_decisive(located: Located) -> bool:
    """Whether one fault was found that explains every output and that nothing else explains.

    With the reference's very inputs its largest error must exceed what the draws, worth no more
    than those of one element, allow at the stated probability of a false alarm.
    """
    chain, matcher = located.chain, located.matcher
    if located.unrelated is not None or not chain.explained or len(chain.faults) != 1:
        return False
    (fault,) = chain.faults
    reference, candidate = matcher.reference, matcher.candidate
    pairs = matcher.all_pairs({})
    read = {name: pairs.get(name) for name in _read_by(candidate, fault.nodes)}
    given = {
        name: pair[1].array(reference.values[pair[0]])
        for name, pair in read.items()
        if pair is not None
    }
    there = {name: reference.values[name] for name in _read_by(reference, fault.reference_nodes)}
    here = _Alone(candidate, given, fault.tensor, reference)
    counterpart = _Alone(reference, there, fault.counterpart, candidate)
    mark = reference.prints[fault.counterpart]
    _, error = rms_and_peak(fault.value, here.value)
    error -= threshold(mark.elements) * FLOAT64_ORDER * mark.rms
    if len(given) < len(read) or not 0.0 < error < math.inf:
        return False
    for draws in (FIRST_DRAWS, *FURTHER_DRAWS):
        moved = here.largest_change(draws) + counterpart.largest_change(draws)
        if error > student(mark.elements, draws) * moved:
            return True
        if error <= student(mark.elements, FURTHER_DRAWS[-1]) * moved:
            return False  # the largest change of more draws is no smaller
    return False


class _Alone:
    """A tensor computed from others by a few nodes, with noise in these alone."""

    def __init__(
        self, capture: TensorCapture, given: Mapping[str, Array], tensor: str, other: TensorCapture
    ) -> None:
        self._capture, self._given, self._tensor = capture, given, tensor
        self._constants = unmatched_constants(capture.graph, other.graph)
        self._draws, self._largest = 0, 0.0
        self.value = capture.computed_from(given, tensor)

    def largest_change(self, draws: int) -> float:
        """Return the largest change by rounding and by constants that are rounded again."""
        for seed in range(self._draws, draws):
            noise = Noise(seed=seed, rounding=True, constants=self._constants, attributes=True)
            drawn = self._capture.computed_from(self._given, self._tensor, noise)
            self._largest = max(self._largest, rms_and_peak(self.value, drawn)[1])
        self._draws = draws
        return self._largest


def _read_by(capture: TensorCapture, nodes: Collection[str]) -> list[str]:
    """Return the tensors that enter a group of nodes."""
    group = [node for node in capture.graph.nodes if node.name in nodes]
    made = {name for node in group for name in node.outputs}
    return sorted({name for node in group for name in capture.topology.sources(node)} - made)
