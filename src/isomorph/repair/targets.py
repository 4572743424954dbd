"""Repair targets: each finding with its context and a function that tries a patch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.prepare import prepare_pair
from isomorph.core.chance import threshold
from isomorph.core.errors import IsomorphError
from isomorph.core.fault_context import FaultContext
from isomorph.core.messages import message
from isomorph.core.patch import EditBody, Patch
from isomorph.core.stated_numbers import MUCH_LESS_LOSS
from isomorph.diagnose.build_context import fault_contexts
from isomorph.diagnose.diagnose import with_cause
from isomorph.diagnose.patch_trial import PatchTrial
from isomorph.diagnose.subgraph_faults import in_outer_names
from isomorph.localize.findings import findings as fault_findings
from isomorph.localize.locate import Located, locate, match_values
from isomorph.localize.subgraph_search import BodyFault, search_body
from isomorph.match.dequantized_graph import GRID_OF_RESULT, GRIDS_READ, implicit_grids
from isomorph.match.packed_readers import packed_readers
from isomorph.oracle.sizes import rms_and_peak
from isomorph.repair.split_fault import split_fault

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.model import Graph, Node
    from isomorph.core.report import Finding
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.localize.fault import Fault
    from isomorph.match.value_match import ValueMatcher
    from isomorph.repair.known_faults import KnownFaults
    from isomorph.sessions.model_handle import ModelHandle

BIAS_ON_GRID = {"QLinearConv": (8,)}
"""Where a bias of whole numbers stands, which counts in products of two scales."""
UNLOCATED_CODES = frozenset({"OUTPUT_ORDER", "NONDETERMINISM"})
"""Codes of findings that a check makes without localization and a patch can repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTarget:
    """A finding, its context, and whether a patch restores its tensors in the oracle.

    ``local`` is False where a patch cannot be tried in the oracle: then only the measurement of
    the whole model decides. ``parts`` splits a target of several nodes and enters the bodies of a
    branch or loop; ``whole`` converts a patch to one of the whole model.
    """

    finding: Finding
    context: FaultContext
    restores: Callable[[Patch], bool]
    local: bool = True
    parts: Callable[[], Iterator[RepairTarget]] = field(default=lambda: iter(()), repr=False)
    whole: Callable[[Patch], Patch] = field(default=lambda patch: patch, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both models, and a folder for what is cut out of them."""

    reference: ModelHandle
    candidate: ModelHandle
    folder: Path


def fault_targets(
    reference: ModelHandle,
    candidate: ModelHandle,
    sample: Sample,
    options: CheckConfig,
    folder: Path,
    *,
    known: KnownFaults | None = None,
) -> Iterator[RepairTarget]:
    """Locate the faults on one sample: one target each, in the order of the graph.

    ``known`` are those of the same sample that a report has located and diagnosed.
    """
    prepared = prepare_pair(reference, candidate, options)
    pair = prepared.evaluate(sample)
    if known is not None:
        located = known.located(match_values(*pair))
    else:
        located = locate(*pair, prepared.output_names)
    sides = Sides(reference=prepared.reference, candidate=candidate, folder=folder)
    yield from _targets(located, sides, known=known)


def _targets(
    located: Located,
    sides: Sides,
    only: frozenset[str] | None = None,
    known: KnownFaults | None = None,
) -> Iterator[RepairTarget]:
    left, right = located.matcher.reference.graph, located.matcher.candidate.graph
    by_node = dict(fault_contexts(located.chain.faults, located.matcher))
    for finding in fault_findings(located.chain, left, right):
        faults = [each for each in located.chain.faults if each.node == finding.node]
        context = by_node.get(finding.node or "")
        if context is not None and (only is None or faults[0].tensor in only):
            found = known.finding(faults[0].tensor) if known else with_cause(finding, context)
            target = _target(found, context, faults, located, sides.candidate)
            yield replace(target, parts=partial(_parts, located, faults[0], found, sides))


def _parts(located: Located, fault: Fault, outer: Finding, sides: Sides) -> Iterator[RepairTarget]:
    pieces = split_fault(located, fault) if len(fault.nodes) > 1 else None
    if pieces is not None:
        yield from _targets(pieces[0], sides, pieces[1])
    within = _entered(located, fault, sides)
    if within is not None:
        yield from _inside(within, outer, sides.folder)


def _entered(located: Located, fault: Fault, sides: Sides) -> BodyFault | None:
    """The body of a faulty branch or loop in which values go wrong, if it can be cut out."""
    faults = located.chain.faults
    earlier = {each.tensor: each.value for each in faults[: faults.index(fault)]}
    folder = Path(mkdtemp(prefix="body-", dir=sides.folder))
    try:
        return search_body(fault, located, earlier, (sides.reference, sides.candidate), folder)
    except (IsomorphError, ValueError, KeyError):
        return None  # what cannot be cut out cannot be patched alone


def _inside(within: BodyFault, outer: Finding, folder: Path) -> Iterator[RepairTarget]:
    """What is wrong in a body, with patches that the model around it takes."""
    reference, candidate = within.reference.handle, within.candidate.handle
    if reference is None or candidate is None:
        return
    sides = Sides(reference=reference, candidate=candidate, folder=folder)
    for inner in _targets(within.located, sides):
        yield _placed(inner, within, outer)


def _placed(inner: RepairTarget, within: BodyFault, outer: Finding) -> RepairTarget:
    def whole(patch: Patch) -> Patch:
        own = inner.whole(patch)
        edit = EditBody(node=within.node, body=within.body, edits=own.edits)
        summary = message("PATCH.inside", node=within.node, patch=own.summary)
        return Patch(summary=summary, edits=(edit,))

    return replace(
        inner,
        finding=in_outer_names(inner.finding, outer, within),
        parts=lambda: (_placed(each, within, outer) for each in inner.parts()),
        whole=whole,
    )


def _target(
    finding: Finding,
    context: FaultContext,
    faults: Sequence[Fault],
    located: Located,
    candidate: ModelHandle,
) -> RepairTarget:
    matcher, chain = located.matcher, located.chain
    first = chain.faults.index(faults[0])
    earlier = {each.tensor: each.value for each in chain.faults[:first]}
    stage = PatchTrial(candidate, matcher.candidate, context.nodes, earlier)

    behind = matcher.candidate.topology.below([each.tensor for each in faults])
    late = {n.name for n in context.candidate.nodes if set(n.outputs) & behind}
    outputs = Outputs(located, faults)
    quantizers = _parameters_of_quantizers(context.candidate)
    packed = _parameters_of_packed(context.candidate)
    casts = {node.name for node in context.nodes if node.op == "Cast"}

    def restores(patch: Patch) -> bool:
        if set(patch.nodes) & late:
            # It works behind the wrong tensor, so that one may stay as it is.
            return outputs.agree(stage.run(patch, outputs.names, outputs.others))
        found = stage.run(patch, [each.tensor for each in faults])
        graded = MUCH_LESS_LOSS if set(patch.tensors) <= quantizers else 0.0
        if patch.tensors and set(patch.tensors) <= packed:
            graded = 1.0  # numbers of few bits lose much by themselves
        if found is not None and _put_right(matcher, context, faults, found, graded=graded):
            # Values in another shape match in any order, so the outputs decide.
            moved = any(found[each.tensor].shape != each.value.shape for each in faults)
            return not moved or outputs.agree(stage.run(patch, outputs.names, outputs.others))
        # A wider type may give other values than the reference has here: the outputs decide.
        return bool(casts & set(patch.nodes)) and outputs.agree(
            stage.run(patch, outputs.names, outputs.others)
        )

    def rehearse(patch: Patch) -> Array | None:
        found = stage.run(patch, [context.tensor])
        return None if found is None else found[context.tensor]

    def value(graph: Graph, name: str) -> Array | None:
        side, given = (
            (matcher.candidate, earlier) if graph is context.candidate else (matcher.reference, {})
        )
        try:
            return side.run([name], given).get(name)
        except IsomorphError:
            return None

    whole = replace(context, value=value, rehearse=rehearse)
    return RepairTarget(finding=finding, context=whole, restores=restores)


def _put_right(
    matcher: ValueMatcher,
    context: FaultContext,
    faults: Sequence[Fault],
    found: Mapping[str, Array],
    *,
    graded: float,
) -> bool:
    """Whether the faulty tensors are restored.

    ``graded``: where only quantizers were changed, how many times less they must be off; else 0.
    """
    if any(found[g.tensor].shape != g.value.shape for g in faults):
        # What stood for it may have been the tensor of a later step, of the same size.
        pair = matcher.pair(context.tensor, found[context.tensor])
        return pair is not None and any(pair[0] in node.outputs for node in context.counterparts)
    if all(matcher.equal(g.counterpart, g.tensor, g.value, found[g.tensor]) for g in faults):
        return True
    # A calibration made for other data may cut a little off, and be the right one.
    lost = rms_and_peak(context.right, found[context.tensor])[0]
    before = rms_and_peak(context.right, context.wrong)[0]
    return graded > 0.0 and graded * lost <= before and lost < before


def _parameters_of_quantizers(graph: Graph) -> frozenset[str]:
    names: set[str] = set()
    for node in graph.nodes:
        read = [place for _, *places in GRIDS_READ.get(node.op, ()) for place in places]
        made = (1, 2) if node.op == "QuantizeLinear" else GRID_OF_RESULT.get(node.op, ())
        bias = BIAS_ON_GRID.get(node.op, ())
        names.update(node.inputs[p] for p in (*read, *made, *bias) if p < len(node.inputs))
    return frozenset((names - {""}) | implicit_grids(graph).keys())


def _parameters_of_packed(graph: Graph) -> frozenset[str]:
    """The scales of weights that are packed in blocks."""
    readers = packed_readers(graph)
    read = {name for node in graph.nodes if node.name in readers for name in node.inputs}
    constants = graph.constants
    return frozenset(n for n in read if n in constants and "float" in constants[n].dtype)


class Outputs:
    """The outputs with every fault corrected, which a patch after the wrong tensor must reach."""

    def __init__(self, located: Located, faults: Sequence[Fault]) -> None:
        self._matcher = located.matcher
        own = {each.tensor for each in faults}
        after = self._matcher.candidate.topology.below(own)
        self._all = {each.tensor: each.value for each in located.chain.faults}
        self.others = {n: v for n, v in self._all.items() if n not in own and n not in after}
        self.names = [
            spec.name for spec in self._matcher.candidate.graph.outputs if spec.name in after | own
        ]
        self._aim: dict[str, Array] | None = None

    def agree(self, found: Mapping[str, Array] | None) -> bool:
        """Whether these equal the outputs of the candidate without its faults."""
        if found is None or not self.names:
            return False
        if self._aim is None:
            self._aim = self._matcher.candidate.run(self.names, self._all)
        candidate = self._matcher.candidate
        for name in self.names:
            rms, _ = rms_and_peak(self._aim[name], found[name])
            floor = 2.0**-40 * float(np.max(np.abs(self._aim[name]), initial=0.0))
            bound = threshold(self._aim[name].size)
            if not rms <= bound * candidate.spread.get(name, 0.0) + floor:
                return False
        return True


def unlocated_targets(
    reference: ModelHandle, candidate: ModelHandle, findings: Sequence[Finding]
) -> Iterator[RepairTarget]:
    """Targets for outputs in another order and random nodes; patches are tried on the model."""
    graph = candidate.model.graph
    for finding in findings:
        nodes = _nodes(graph, finding)
        if finding.code not in UNLOCATED_CODES or not nodes:
            continue
        nothing = np.empty(0)
        graphs = reference.model.graph, graph
        place = nodes[0], nodes
        yield whole_model_target(finding, graphs, place, nodes[0].outputs[0], (nothing, nothing))


def whole_model_target(
    finding: Finding,
    graphs: tuple[Graph, Graph],
    place: tuple[Node, tuple[Node, ...]],
    tensor: str,
    values: tuple[Array, Array],
) -> RepairTarget:
    """A target that only the whole model can prove; ``values`` are the wrong and the right one.

    ``place`` is the node that is named, and all that belong to it.
    """
    context = FaultContext(
        reference=graphs[0],
        candidate=graphs[1],
        node=place[0],
        nodes=place[1],
        counterparts=(),
        tensor=tensor,
        wrong=values[0],
        right=values[1],
        permuted=False,
        constant=lambda _graph, _name: None,
        restores=lambda _given: False,
        equals=lambda _array: False,
    )
    return RepairTarget(
        finding=finding,
        context=context,
        restores=lambda _patch: True,
        local=False,
    )


def _nodes(graph: Graph, finding: Finding) -> tuple[Node, ...]:
    if finding.nodes:
        return tuple(node for node in graph.nodes if node.name in finding.nodes)
    return tuple(node for node in graph.nodes if set(node.outputs) & set(finding.tensors))
