"""Quantizers that lose so much that no correction before the last one restores anything.

The search takes a correction only where something behind it is right again. Where every quantizer
cuts values off, nothing is, and the fault that it finds reaches from the first to the output. The
draws, whose quantizers are ideal, tell which tensors are right but for their own grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.chance import student
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.localize.substitution import Substitution
from isomorph.match.value_match import rearrangements
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.localize.fault import Fault
    from isomorph.localize.fault_search import Search
    from isomorph.match.drawn_tensors import Drawn
    from isomorph.match.value_match import ValueMatcher


def narrow_to_quantizer(search: Search, fault: Fault) -> Fault:
    """Return the fault of the first node of a group that is wrong by its own grid alone.

    That is asked only where the whole group is right without any grid: then nothing but grids is
    wrong in it.
    """
    candidate = search.candidate
    if len(fault.nodes) < 2 or candidate.noise is None or not candidate.noise.quantizers:
        return fault
    if search.values[fault.tensor].shape != fault.value.shape:
        return fault
    names = [
        name
        for node in candidate.graph.nodes
        if node.name in fault.nodes
        for name in node.outputs
        if name in search.values and name not in search.right and name != fault.tensor
    ]
    if not names:
        return fault
    candidate.draw_together([*names, fault.tensor], TENSOR_DRAWS)
    supposed = Substitution(
        tensor=fault.tensor, counterpart=fault.counterpart, moved=fault.moved, permuted=False
    )
    if not _right_without_grids(
        search.matcher, supposed, candidate.drawn(fault.tensor, TENSOR_DRAWS)
    ):
        return fault
    for name in names:
        found = _counterpart(search, name)
        if found is not None:
            return replace(search.fault(found), right_without_grids=True)
    return fault


def without_carried_grids(matcher: ValueMatcher, faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults but those of a node that only carries the grid of an earlier one on.

    A corrected value is put onto the grid of its tensor, so what carries that grid on is as wrong.
    """
    candidate = matcher.candidate
    grids = {each.tensor: (each.scale, each.zero_point) for each in candidate.graph.quantization}
    wrong = {each.tensor for each in faults}

    def carried(fault: Fault) -> bool:
        topology = candidate.topology
        maker = topology.maker[fault.tensor]
        own, sources = grids.get(fault.tensor), wrong.intersection(topology.sources(maker))
        same = maker.op == "DequantizeLinear" or own is not None
        if not same or not any(own in (None, grids.get(source)) for source in sources):
            return False
        supposed = Substitution(
            tensor=fault.tensor, counterpart=fault.counterpart, moved=fault.moved, permuted=False
        )
        drawn = candidate.drawn(fault.tensor, TENSOR_DRAWS)
        return _right_without_grids(matcher, supposed, drawn)

    return [fault for fault in faults if not carried(fault)]


def _counterpart(search: Search, tensor: str) -> Substitution | None:
    """Return the substitution by what the tensor would be without any grid."""
    drawn, value = search.candidate.drawn(tensor, TENSOR_DRAWS), search.values[tensor]
    if value.dtype.kind != "f":
        return None
    # A quantizer passes on what goes in: then the counterpart is matched already.
    near = [*search.matched_sources(tensor), *search.frontier]
    for name in dict.fromkeys(search.fitting(near, value)):
        for moved in rearrangements(search.reference.values[name], value.shape):
            found = Substitution(tensor=tensor, counterpart=name, moved=moved, permuted=False)
            if _right_without_grids(search.matcher, found, drawn):
                return found
    return None


def _right_without_grids(matcher: ValueMatcher, supposed: Substitution, drawn: Drawn) -> bool:
    """Whether the mean of the draws is the supposed value, up to how far they lie apart."""
    ref = matcher.reference
    noise = math.hypot(drawn.rms, ref.spread[supposed.counterpart])
    right = supposed.moved.array(ref.values[supposed.counterpart])
    if right.shape != drawn.center.shape or not math.isfinite(noise):
        return False
    return rms_and_peak(right, drawn.center)[0] <= student(right.size, drawn.freedom) * noise
