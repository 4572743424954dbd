"""Find every guilty place, one after the other, until the outputs agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import WRONG_NODES
from isomorph.localize.fault import Fault, FaultChain
from isomorph.localize.fault_search import Search
from isomorph.localize.multi_output import narrowed
from isomorph.localize.swapped_outputs import exchanged
from isomorph.match.tensor_capture import rms_and_peak
from isomorph.match.value_match import ValueMatcher, rearrangements

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_LEAST = 1e-300
"""Stands for a tolerance of zero."""


@np.errstate(all="ignore")
def follow(matcher: ValueMatcher, outputs: Sequence[tuple[str, str]]) -> FaultChain:
    """Substitute what is wrong, one place after the other, until the outputs agree.

    What becomes infinite or no number on the way equals nothing.
    """
    faults: list[Fault] = []
    search = untouched = Search(matcher, outputs, {})
    before = _errors(matcher, outputs, search.values)
    faults += exchanged(search)
    if faults:
        search = Search(matcher, outputs, {each.tensor: each.value for each in faults})
    while search.wrong_outputs():
        if len(faults) >= WRONG_NODES.most:
            WRONG_NODES.reached()
            break
        found = search.next_fault()
        fault = None if found is None else narrowed(search, found)
        if fault is None or any(fault.tensor == each.tensor for each in faults):
            break
        faults.append(fault)
        search = Search(matcher, outputs, {each.tensor: each.value for each in faults})
    left = tuple(cand for _, cand in search.wrong_outputs())
    if not left and all(_inherits(untouched, each) for each in faults):
        hidden = _hidden(matcher, outputs, before)
        if hidden.faults or not faults:
            return hidden
    faults = _without_losses(matcher, outputs, _without_bystanders(matcher, faults))
    faults = _by_the_same_node(faults)
    proven = [_proven(matcher, outputs, each, before, explained=not left) for each in faults]
    return FaultChain(faults=tuple(proven), explained=not left, left_over=left)


def _hidden(matcher: ValueMatcher, outputs: Sequence[tuple[str, str]], before: float) -> FaultChain:
    """Places that are wrong by themselves where the outputs are within their noise.

    What precision may lose on the way to an output can be more than a fault does to it. At the
    guilty node it is not: there a tensor is off by more, all in all, than any noise explains.
    """
    faults: list[Fault] = []
    while True:
        if len(faults) >= WRONG_NODES.most:
            WRONG_NODES.reached()
            break
        search = Search(matcher, outputs, {each.tensor: each.value for each in faults})
        found = search.next_fault(everywhere=True)
        fault = None if found is None else narrowed(search, found)
        if fault is None or not beyond_noise(matcher, fault, search.values[fault.tensor]):
            break
        faults.append(fault)
    faults = _without_bystanders(matcher, faults)
    proven = [_proven(matcher, outputs, each, before, explained=True) for each in faults]
    # A loss that comes out as well with it put right is not its doing.
    if not any(each.share for each in proven):
        return FaultChain(faults=(), explained=True)
    return FaultChain(faults=tuple(proven), explained=True)


def _inherits(search: Search, fault: Fault) -> bool:
    """Whether it is right once what it reads is exactly the reference's: it only hands on.

    Where precision is low, what a fault does to a small tensor may be within its noise. Then the
    walk stops there, and blames the next that is off.
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
            mine, moved = pair
            given[name] = moved.array(matcher.reference.values[mine])
    found = matcher.candidate.run([fault.tensor], given).get(fault.tensor) if given else None
    return found is not None and matcher.equal(fault.counterpart, fault.tensor, fault.value, found)


def beyond_noise(matcher: ValueMatcher, fault: Fault, wrong: Array) -> bool:
    """Whether the wrong tensor is off by more, all in all, than any noise explains."""
    if wrong.shape != fault.value.shape:
        return True
    return rms_and_peak(fault.value, wrong)[0] > matcher.tolerance(fault.counterpart, fault.tensor)


def _without_bystanders(matcher: ValueMatcher, faults: Sequence[Fault]) -> list[Fault]:
    """Those whose tensor is still wrong when all the others are put right.

    What is found first may lie behind what is found later: an output of a node whose other
    output leads on is looked at before what comes of the latter.
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
    """Those that the others do not explain, or that are off by more than noise.

    On the way to a fault, what a node loses by its precision may look odd enough to be put right
    first.
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
    """Of several places one narrower than the other, the node of the narrower is to blame.

    The several outputs of a node lead to several places; the first that is found may have
    half the graph before it.
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
    """Its inputs are right, it is not, and with it and its like put right the outputs agree."""
    names = [cand for _, cand in outputs]
    after = _errors(matcher, outputs, matcher.candidate.run(names, {fault.tensor: fault.value}))
    share = None if before == 0 or not np.isfinite(before) else max(0.0, 1.0 - after / before)
    return replace(fault, proven=explained, share=share)


def _agree(matcher: ValueMatcher, ref: str, cand: str, value: Array) -> bool:
    source = matcher.reference.values.get(ref)
    if source is None:
        return True
    first = next(iter(rearrangements(source, value.shape)), None)
    if matcher.same_axes and source.shape != value.shape:
        return False
    return first is not None and matcher.equal(ref, cand, first.array(source), value)


def _errors(
    matcher: ValueMatcher, outputs: Sequence[tuple[str, str]], values: Mapping[str, Array]
) -> float:
    """The outputs' errors in units of their own noise, together."""
    ratios = []
    for ref, cand in outputs:
        source, value = matcher.reference.values.get(ref), values.get(cand)
        if source is None or value is None:
            continue
        first = next(iter(rearrangements(source, value.shape)), None)
        rms = rms_and_peak(first.array(source), value)[0] if first is not None else np.inf
        ratios.append(rms / max(matcher.tolerance(ref, cand), _LEAST))
    # Where no noise moves an output at all, a square of the ratio is beyond any float.
    return math.hypot(*ratios)
