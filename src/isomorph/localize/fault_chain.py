"""Find every fault, one after the other, until the outputs agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import WRONG_NODES
from isomorph.localize.fault import Fault, FaultChain
from isomorph.localize.fault_search import Search
from isomorph.localize.multi_output import narrow_to_node
from isomorph.localize.narrow_quantizers import narrow_to_quantizer, without_carried_grids
from isomorph.localize.substitution import Substitution
from isomorph.localize.swapped_outputs import swapped_output_faults
from isomorph.match.value_match import ValueMatcher, rearrangements
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_LEAST = 1e-300
"""Replaces a tolerance of zero in a quotient."""


@np.errstate(all="ignore")
def find_faults(
    matcher: ValueMatcher, outputs: Sequence[tuple[str, str]], known: Sequence[Fault] = ()
) -> FaultChain:
    """Correct one wrong tensor after the other until the outputs agree.

    Infinities and NaN that appear on the way equal nothing. ``known`` are faults that other inputs
    have proven: they are corrected first.
    """
    faults: list[Fault] = []
    search = untouched = Search(matcher, outputs, {})
    before = _errors(matcher, outputs, search.values)
    faults += _again(search, known) or swapped_output_faults(search)
    if faults:
        search = Search(matcher, outputs, {each.tensor: each.value for each in faults})
    while search.wrong_outputs():
        if len(faults) >= WRONG_NODES.most:
            WRONG_NODES.reached()
            break
        found = search.next_fault()
        fault = None if found is None else narrow_to_node(search, found)
        fault = None if fault is None else narrow_to_quantizer(search, fault)
        if fault is None or any(fault.tensor == each.tensor for each in faults):
            break
        faults.append(fault)
        search = Search(matcher, outputs, {each.tensor: each.value for each in faults})
    # A correction that a later node rejects leaves outputs that nothing computes.
    wrong = search.wrong_outputs()
    left = tuple(
        cand
        for ref, cand in outputs
        if (ref, cand) in wrong or (cand in untouched.values and cand not in search.values)
    )
    if not left and all(_only_propagates(untouched, each) for each in faults):
        below_noise = _faults_below_noise(matcher, outputs, before)
        if below_noise.faults or not faults:
            return below_noise
    faults = _without_losses(matcher, outputs, _without_restored(matcher, faults))
    faults = _by_the_same_node(without_carried_grids(matcher, faults))
    proven = [_proven(matcher, outputs, each, before, explained=not left) for each in faults]
    return FaultChain(faults=tuple(proven), explained=not left, left_over=left)


def _again(search: Search, known: Sequence[Fault]) -> list[Fault]:
    """Return known faults with the values that they have here."""
    found, reference = [], search.matcher.reference
    for fault in known:
        if fault.tensor not in search.values or fault.counterpart not in reference.values:
            continue
        shape = search.values[fault.tensor].shape
        moved = next(iter(rearrangements(reference.values[fault.counterpart], shape)), None)
        if moved is not None:
            placed = Substitution(
                tensor=fault.tensor, counterpart=fault.counterpart, moved=moved,
                permuted=fault.permuted,
            )  # fmt: skip
            found.append(replace(search.fault(placed), node=fault.node, nodes=fault.nodes))
    return found


def _faults_below_noise(
    matcher: ValueMatcher, outputs: Sequence[tuple[str, str]], before: float
) -> FaultChain:
    """Find faults where the outputs are within their noise.

    The precision lost on the way to an output may exceed the effect of a fault. At the faulty node
    itself it does not: there the rms error of the tensor exceeds its noise.
    """
    faults: list[Fault] = []
    corrected: dict[str, Array] = {}
    while True:
        if len(corrected) >= WRONG_NODES.most:
            WRONG_NODES.reached()
            break
        search = Search(matcher, outputs, corrected)
        found = search.next_fault(everywhere=True)
        fault = None if found is None else narrow_to_node(search, found)
        if fault is None or fault.tensor in corrected:
            break
        # Single elements that are off are a loss of this node; a fault may follow it.
        if beyond_noise(matcher, fault, search.values[fault.tensor]):
            faults.append(fault)
        corrected[fault.tensor] = fault.value
    faults = _without_restored(matcher, faults)
    proven = [_proven(matcher, outputs, each, before, explained=True) for each in faults]
    # A fault whose correction does not reduce the loss is not its cause.
    if not any(each.share for each in proven):
        return FaultChain(faults=(), explained=True)
    return FaultChain(faults=tuple(proven), explained=True)


def _only_propagates(search: Search, fault: Fault) -> bool:
    """Whether the tensor is right when its inputs are exactly the reference's.

    At low precision the effect of an earlier fault on a small tensor may be within its noise. The
    search then stops too late and names a node that only propagates the error.
    """
    matcher, noise, topology = search.matcher, search.candidate.noise, search.candidate.topology
    if noise is None or not noise.quantizers:
        return False
    group = [node for node in matcher.candidate.graph.nodes if node.name in fault.nodes]
    made = {name for node in group for name in node.outputs}
    read = {name for node in group for name in topology.sources(node)} - made
    given = {}
    for name in read:
        if (pair := search.pairs.get(name)) is not None:
            ref, moved = pair
            given[name] = moved.array(matcher.reference.values[ref])
    found = matcher.candidate.run([fault.tensor], given).get(fault.tensor) if given else None
    return found is not None and matcher.equal(fault.counterpart, fault.tensor, fault.value, found)


def beyond_noise(matcher: ValueMatcher, fault: Fault, wrong: Array) -> bool:
    """Whether the rms error of the wrong tensor exceeds its noise."""
    if wrong.shape != fault.value.shape:
        return True
    return rms_and_peak(fault.value, wrong)[0] > matcher.tolerance(fault.counterpart, fault.tensor)


def _without_restored(matcher: ValueMatcher, faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults whose tensor is still wrong when all others are corrected.

    A fault that was found first may be caused by one that was found later: of a node with several
    outputs, one is examined before the tensors that depend on another.
    """
    kept = list(faults)
    for fault in faults:
        others = {each.tensor: each.value for each in kept if each is not fault}
        if not others:
            break
        found = matcher.candidate.run([fault.tensor], others).get(fault.tensor)
        if found is not None and matcher.equal(fault.counterpart, fault.tensor, fault.value, found):
            kept = [each for each in kept if each is not fault]
    return kept


def _without_losses(
    matcher: ValueMatcher, outputs: Sequence[tuple[str, str]], faults: Sequence[Fault]
) -> list[Fault]:
    """Return the faults that the others do not explain, or that exceed their noise.

    Before the real fault is found, the precision loss of another node may be corrected first.
    """
    kept = list(faults)
    for fault in faults:
        others = {each.tensor: each.value for each in kept if each is not fault}
        if not others or beyond_noise(matcher, fault, matcher.candidate.values[fault.tensor]):
            continue
        if not Search(matcher, outputs, others).wrong_outputs():
            kept = [each for each in kept if each is not fault]
    return kept


def _by_the_same_node(faults: Sequence[Fault]) -> list[Fault]:
    """Name the node of the narrowest fault for all faults whose groups contain it.

    The outputs of one node lead to several faults, and the group of the first one that is found
    may contain half the graph.
    """
    named = []
    for fault in faults:
        inside = [e for e in faults if e.node in fault.nodes and len(e.nodes) < len(fault.nodes)]
        narrowest = min(inside, key=lambda each: len(each.nodes), default=fault)
        named.append(replace(fault, node=narrowest.node))
    return named


def _proven(
    matcher: ValueMatcher,
    outputs: Sequence[tuple[str, str]],
    fault: Fault,
    before: float,
    *,
    explained: bool,
) -> Fault:
    """Add to a fault whether it is proven, and the share of the output error that it causes."""
    names = [cand for _, cand in outputs]
    after = _errors(matcher, outputs, matcher.candidate.run(names, {fault.tensor: fault.value}))
    share = None if before == 0 or not np.isfinite(before) else max(0.0, 1.0 - after / before)
    return replace(fault, proven=explained, share=share)


def _errors(
    matcher: ValueMatcher, outputs: Sequence[tuple[str, str]], values: Mapping[str, Array]
) -> float:
    """Return the norm of all outputs' errors, each in units of its noise.

    An output that a correction makes impossible to compute is infinitely wrong.
    """
    ratios = []
    for ref, cand in outputs:
        source = matcher.reference.values.get(ref)
        if source is None or cand not in matcher.candidate.values:
            continue
        rms, value = math.inf, values.get(cand)
        if value is not None:
            for moved in islice(rearrangements(source, value.shape), 1):
                rms = rms_and_peak(moved.array(source), value)[0]
        ratios.append(rms / max(matcher.tolerance(ref, cand), _LEAST))
    # Without any noise at an output, the square of the ratio would overflow.
    return math.hypot(*ratios)
