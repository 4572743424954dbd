"""Find every guilty place, one after the other, until the outputs agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import WRONG_NODES
from isomorph.localize.fault import Guilt, Trail
from isomorph.localize.fault_search import Search
from isomorph.localize.multi_output import narrowed
from isomorph.localize.swapped_outputs import exchanged
from isomorph.match.tensor_capture import apart
from isomorph.match.value_match import Twins, ways

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_LEAST = 1e-300
"""Stands for a tolerance of zero."""


@np.errstate(all="ignore")
def follow(twins: Twins, outputs: Sequence[tuple[str, str]]) -> Trail:
    """Substitute what is wrong, one place after the other, until the outputs agree.

    What becomes infinite or no number on the way equals nothing.
    """
    guilts: list[Guilt] = []
    search = untouched = Search(twins, outputs, {})
    before = _errors(twins, outputs, search.values)
    guilts += exchanged(search)
    if guilts:
        search = Search(twins, outputs, {each.tensor: each.value for each in guilts})
    while search.wrong_outputs():
        if len(guilts) >= WRONG_NODES.most:
            WRONG_NODES.reached()
            break
        found = search.next_guilt()
        guilt = None if found is None else narrowed(search, found)
        if guilt is None or any(guilt.tensor == each.tensor for each in guilts):
            break
        guilts.append(guilt)
        search = Search(twins, outputs, {each.tensor: each.value for each in guilts})
    left = tuple(yours for _, yours in search.wrong_outputs())
    if not left and all(_inherits(untouched, each) for each in guilts):
        hidden = _hidden(twins, outputs, before)
        if hidden.guilts or not guilts:
            return hidden
    guilts = _without_losses(twins, outputs, _without_bystanders(twins, guilts))
    guilts = _by_the_same_node(guilts)
    proven = [_proven(twins, outputs, each, before, explained=not left) for each in guilts]
    return Trail(guilts=tuple(proven), explained=not left, left_over=left)


def _hidden(twins: Twins, outputs: Sequence[tuple[str, str]], before: float) -> Trail:
    """Places that are wrong by themselves where the outputs are within their noise.

    What precision may lose on the way to an output can be more than a fault does to it. At the
    guilty node it is not: there a tensor is off by more, all in all, than any noise explains.
    """
    guilts: list[Guilt] = []
    while True:
        if len(guilts) >= WRONG_NODES.most:
            WRONG_NODES.reached()
            break
        search = Search(twins, outputs, {each.tensor: each.value for each in guilts})
        found = search.next_guilt(everywhere=True)
        guilt = None if found is None else narrowed(search, found)
        if guilt is None or not beyond_noise(twins, guilt, search.values[guilt.tensor]):
            break
        guilts.append(guilt)
    guilts = _without_bystanders(twins, guilts)
    proven = [_proven(twins, outputs, each, before, explained=True) for each in guilts]
    # A loss that comes out as well with it put right is not its doing.
    if not any(each.share for each in proven):
        return Trail(guilts=(), explained=True)
    return Trail(guilts=tuple(proven), explained=True)


def _inherits(search: Search, guilt: Guilt) -> bool:
    """Whether it is right once what it reads is exactly the reference's: it only hands on.

    Where precision is low, what a fault does to a small tensor may be within its noise. Then the
    walk stops there, and blames the next that is off.
    """
    twins, noise, topology = search.twins, search.candidate.noise, search.candidate.topology
    if noise is None or not noise.quantisers:
        return False
    group = [node for node in twins.candidate.graph.nodes if node.name in guilt.nodes]
    made = {name for node in group for name in node.outputs}
    read = {name for node in group for name in topology.sources(node)} - made
    given = {}
    for name in read:
        if (pair := search.pairs.get(name)) is not None:
            mine, moved = pair
            given[name] = moved.array(twins.reference.values[mine])
    found = twins.candidate.run([guilt.tensor], given).get(guilt.tensor) if given else None
    return found is not None and twins.equal(guilt.counterpart, guilt.tensor, guilt.value, found)


def beyond_noise(twins: Twins, guilt: Guilt, wrong: Array) -> bool:
    """Whether the wrong tensor is off by more, all in all, than any noise explains."""
    if wrong.shape != guilt.value.shape:
        return True
    return apart(guilt.value, wrong)[0] > twins.tolerance(guilt.counterpart, guilt.tensor)


def _without_bystanders(twins: Twins, guilts: Sequence[Guilt]) -> list[Guilt]:
    """Those whose tensor is still wrong when all the others are put right.

    What is found first may lie behind what is found later: an output of a node whose other
    output leads on is looked at before what comes of the latter.
    """
    kept = list(guilts)
    for guilt in guilts:
        others = {each.tensor: each.value for each in kept if each is not guilt}
        if not others:
            break
        found = twins.candidate.run([guilt.tensor], others).get(guilt.tensor)
        if found is not None and twins.equal(guilt.counterpart, guilt.tensor, guilt.value, found):
            kept = [each for each in kept if each is not guilt]
    return kept


def _without_losses(
    twins: Twins, outputs: Sequence[tuple[str, str]], guilts: Sequence[Guilt]
) -> list[Guilt]:
    """Those that the others do not explain, or that are off by more than noise.

    On the way to a fault, what a node loses by its precision may look odd enough to be put right
    first.
    """
    kept = list(guilts)
    for guilt in guilts:
        others = {each.tensor: each.value for each in kept if each is not guilt}
        if not others or beyond_noise(twins, guilt, twins.candidate.values[guilt.tensor]):
            continue
        if not Search(twins, outputs, others).wrong_outputs():
            kept = [each for each in kept if each is not guilt]
    return kept


def _by_the_same_node(guilts: Sequence[Guilt]) -> list[Guilt]:
    """Of several places one narrower than the other, the node of the narrower is to blame.

    The several outputs of a node lead to several places; the first that is found may have
    half the graph before it.
    """
    named = []
    for guilt in guilts:
        inside = [e for e in guilts if e.node in guilt.nodes and len(e.nodes) < len(guilt.nodes)]
        narrowest = min(inside, key=lambda each: len(each.nodes), default=guilt)
        named.append(replace(guilt, node=narrowest.node))
    return named


def _proven(
    twins: Twins,
    outputs: Sequence[tuple[str, str]],
    guilt: Guilt,
    before: float,
    *,
    explained: bool,
) -> Guilt:
    """Its inputs are right, it is not, and with it and its like put right the outputs agree."""
    names = [yours for _, yours in outputs]
    after = _errors(twins, outputs, twins.candidate.run(names, {guilt.tensor: guilt.value}))
    share = None if before == 0 or not np.isfinite(before) else max(0.0, 1.0 - after / before)
    return replace(guilt, proven=explained, share=share)


def _agree(twins: Twins, mine: str, yours: str, value: Array) -> bool:
    source = twins.reference.values.get(mine)
    if source is None:
        return True
    first = next(iter(ways(source, value.shape)), None)
    if twins.same_axes and source.shape != value.shape:
        return False
    return first is not None and twins.equal(mine, yours, first.array(source), value)


def _errors(twins: Twins, outputs: Sequence[tuple[str, str]], values: Mapping[str, Array]) -> float:
    """The outputs' errors in units of their own noise, together."""
    ratios = []
    for mine, yours in outputs:
        source, value = twins.reference.values.get(mine), values.get(yours)
        if source is None or value is None:
            continue
        first = next(iter(ways(source, value.shape)), None)
        rms = apart(first.array(source), value)[0] if first is not None else np.inf
        ratios.append(rms / max(twins.tolerance(mine, yours), _LEAST))
    # Where no noise moves an output at all, a square of the ratio is beyond any float.
    return math.hypot(*ratios)
