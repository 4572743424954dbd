"""Differences that the given inputs never reach, found by probing single nodes.

They change no verdict by themselves. Where a search finds an input on which one reaches an output,
the models are two functions; the report contains that input, and `--inputs` accepts the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import MOST_PROBED_NODES, MOST_PROBED_VALUES, noted_limits
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.localize.attribute_diff import PIECEWISE, unmatched_nodes
from isomorph.localize.locate import match_values
from isomorph.localize.probes import ProbeDifference, Span, probe
from isomorph.localize.reference_spans import (
    Paired,
    candidate_spans,
    paired,
    reference_spans,
)
from isomorph.match.attributes import digest, first_difference, numbers_of
from isomorph.measure.precision import OF_SHAPES, lower_precision
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel

_SELECTING = frozenset(
    {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal", "IsNaN", "IsInf", "And", "Or",
     "Xor", "Not", "Where", "Mod"}
)  # fmt: skip
"""Operators whose result decides which values go on; on the given inputs it may always be one."""
_INTEGERS = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32"})
"""Types whose limits data may exceed."""
_ONE_DRAW = 1
"""One draw is enough for a graph that is right on the given inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """A node of the candidate that differs on values the given inputs do not reach."""

    finding: Finding
    departure: ProbeDifference
    description: str
    """What differs, for the reason of a verdict."""
    numbers: tuple[float, ...] = ()
    """Constants beyond which the node may do something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """What probes found, and nodes that select values and have nothing to be compared with."""

    found: list[Latent] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unpaired: tuple[Sequence[Node], Sequence[Node]] = ((), ())
    """Those of the reference and of the candidate."""


def latent(reference: EvaluatedModel, candidate: EvaluatedModel) -> Probes:
    """Probe the nodes whose attributes no node of the other model has."""
    ref_nodes = unmatched_nodes(reference.model, candidate.model)
    cand_nodes = unmatched_nodes(candidate.model, reference.model)
    if not ref_nodes and not cand_nodes:
        return Probes()
    if lower_precision(reference.model.graph, candidate.model.graph):
        # A quantizer is calibrated for certain values: on others it differs by design, and so
        # does everything after it.
        why = message("SKIPPED.probes_lossy.why")
        return Probes(skipped=[not_done("probes", why)])
    if candidate.oracle().capabilities.feed != "all" or (
        reference.oracle().capabilities.feed != "all"
    ):
        why = message("SKIPPED.trace_probes.why")
        count = len(ref_nodes) + len(cand_nodes)
        return Probes(skipped=[not_done("node_probes", why, count=count)])
    matcher = match_values(reference, candidate, draws=_ONE_DRAW)
    ref_chosen, cand_chosen = (
        _affordable(ref_nodes, matcher.reference),
        _affordable(cand_nodes, matcher.candidate),
    )
    found: dict[str, Latent] = {}
    known = paired(matcher)
    for each in _probed(known, ref_chosen, cand_chosen, candidate.seed):
        found.setdefault(str(each.finding.node), each)
    skipped = []
    if (left := len(ref_nodes) + len(cand_nodes) - len(ref_chosen) - len(cand_chosen)) > 0:
        skipped.append(
            not_done("node_probes", count=left, nodes=MOST_PROBED_NODES, values=MOST_PROBED_VALUES)
        )
    unpaired = (
        [each for each in ref_nodes if _selects(each, matcher.reference, known.of_reference)],
        [each for each in cand_nodes if _selects(each, matcher.candidate, known.of_candidate)],
    )
    return Probes(found=list(found.values()), skipped=skipped, unpaired=unpaired)


def _selects(node: Node, capture: TensorCapture, pairs: Mapping[str, object]) -> bool:
    """Whether a node decides on values of the inputs, and no tensor of the other model is equal."""
    if node.op not in _SELECTING or any(pairs.get(name) for name in node.outputs):
        return False
    by_value = {spec.name for spec in capture.graph.inputs}
    for each in capture.graph.nodes:
        if not each.op.startswith(OF_SHAPES) and not by_value.isdisjoint(each.inputs):
            by_value.update(each.outputs)
    return not by_value.isdisjoint(node.inputs)


def _affordable(nodes: list[Node], capture: TensorCapture) -> list[Node]:
    """Choose the nodes to probe: operators with several branches first, then small ones."""

    def size(node: Node) -> int:
        names = (*capture.topology.sources(node), *node.outputs)
        return sum(capture.values[name].size for name in names if name in capture.values)

    chosen: list[Node] = []
    total = 0
    for node in sorted(nodes, key=lambda node: (node.op not in PIECEWISE, size(node))):
        total += size(node)
        if len(chosen) < MOST_PROBED_NODES and total <= MOST_PROBED_VALUES:
            chosen.append(node)
    return chosen


def _probed(known: Paired, ref: list[Node], cand: list[Node], seed: int) -> Iterator[Latent]:
    matcher = known.matcher
    for node in cand:
        numbers = _numbers(node, matcher.candidate.graph)
        departure = _departure(node, known, reference_spans, seed, numbers)
        if departure is not None:
            maker = matcher.reference.topology.maker.get(departure.span.reference)
            yield replace(_latent(node, maker, departure), numbers=numbers)
    for node in ref:
        numbers = _numbers(node, matcher.reference.graph)
        departure = _departure(node, known, candidate_spans, seed, numbers)
        if departure is not None:
            found = _latent(_stand_in(matcher, departure.span), node, departure)
            yield replace(found, numbers=numbers)


def _numbers(node: Node, graph: Graph) -> tuple[float, ...]:
    """Return the single numbers that a node reads, and the limit of the integers that it makes.

    Those that float32 cannot tell from their neighbors are left out.
    """
    largest = 1.0 / unit_roundoff("float32")
    stored = (graph.constants.get(name) for name in node.inputs)
    single = [e.values[0] for e in stored if e is not None and e.values and len(e.values) == 1]
    floats = [*(each for each in single if isinstance(each, float)), *numbers_of(node)]
    made = graph.tensors.get(node.outputs[0]) if node.op == "Cast" else None
    if made is not None and (made.dtype or "") in _INTEGERS:
        floats.append(float(np.iinfo(str(made.dtype)).max))
    return tuple(each for each in floats if each and abs(each) < largest)


def _departure(
    node: Node,
    known: Paired,
    spans_of: Callable[[Node, Paired], list[Span]],
    seed: int,
    numbers: tuple[float, ...],
) -> ProbeDifference | None:
    """Return how a node differs from every span of the other model that may replace it."""
    with noted_limits() as hit:
        spans = spans_of(node, known)
    departure = probe(known.matcher, spans, seed, numbers) if spans else None
    if departure is not None:  # a span that was not tried might agree
        for limit in hit:
            limit.reached()
    return departure


def _stand_in(matcher: ValueMatcher, span: Span) -> Node | None:
    """Return the candidate's node; for a missing node, the one that reads its input."""
    topology = matcher.candidate.topology
    if span.candidate not in {cand for _, cand, _ in span.sources}:
        return topology.maker.get(span.candidate)
    return next(iter(topology.readers.get(span.candidate, ())), topology.maker.get(span.candidate))


def _latent(node: Node | None, counterpart: Node | None, departure: ProbeDifference) -> Latent:
    name = node.name if node is not None else departure.span.candidate
    place = named_node(node.op, name) if node is not None else f"node {name!r}"
    like = named_node(counterpart.op, counterpart.name) if counterpart is not None else "nothing"
    example = _example(departure)
    finding = Finding(
        code="LATENT",
        cause="control_flow" if _decides(node) or _decides(counterpart) else "attribute",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.LATENT,
        summary=message(
            "LATENT.probe", place=place, right=like, kind=departure.kind, example=example
        ),
        node=name,
        nodes=(name,),
        tensors=(departure.span.candidate,),
        reference_nodes=(counterpart.name,) if counterpart is not None else (),
        source=counterpart.source if counterpart is not None else None,
        evidence={"probe": departure.kind, Fact.NUMBERS: _digest(node, counterpart)},
    )
    return Latent(
        finding=finding, departure=departure, description=_description(name, node, counterpart)
    )


def _digest(node: Node | None, counterpart: Node | None) -> str:
    """Hash the operators and attributes of both nodes."""
    return digest(*((each.op, each.attributes) if each else None for each in (counterpart, node)))


def _description(name: str, node: Node | None, counterpart: Node | None) -> str:
    """Describe the attribute that differs, or else the node."""
    if node is not None and counterpart is not None:
        difference = first_difference(node, counterpart)
        if difference is not None:
            return difference.text
    return message("DIVERGENT.on_other_inputs", node=name)


def _decides(node: Node | None) -> bool:
    """Whether the node branches on a condition, which the other model may have frozen."""
    return node is not None and bool(node.bodies)


def _example(departure: ProbeDifference) -> str:
    """Describe the worst element, with its input where the node works element by element."""
    ref, cand = departure.reference, departure.candidate
    with np.errstate(all="ignore"):
        apart = np.abs(ref.astype(np.float64) - cand.astype(np.float64))
    place = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    now, right = cand.flat[place], ref.flat[place]
    given = [value for value in departure.given.values() if value.size == ref.size]
    if len(departure.given) == 1 and given and not departure.span.moved.moves:
        return message("LATENT.made_of", given=given[0].flat[place], now=now, right=right)
    return message("LATENT.makes", now=now, right=right)
