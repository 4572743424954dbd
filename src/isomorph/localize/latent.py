"""Differences that the given inputs never reach: found by probing, told, and searched for.

They change no verdict by themselves. Where a search finds an input that carries one to an output,
that input is in the report, and `--inputs` takes it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import MOST_PROBED_NODES, MOST_PROBED_VALUES, noted_limits
from isomorph.core.report import Finding, FindingEffect, FindingStatus, Skipped
from isomorph.localize.attribute_diff import PIECEWISE, unlike
from isomorph.localize.locate import look
from isomorph.localize.probes import Departure, Way, probe
from isomorph.localize.reference_spans import (
    Paired,
    paired,
    ways_of_candidate,
    ways_of_reference,
)
from isomorph.measure.precision import widths

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel

_ONE_DRAW = 1
"""Of a graph that is right as far as it was reached, one shows the noise well enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """A node of the candidate that differs where the given inputs do not lead."""

    finding: Finding
    departure: Departure


def latent(
    reference: EvaluatedModel, candidate: EvaluatedModel
) -> tuple[list[Latent], list[Skipped]]:
    """Probe the nodes that are told what no node of the other side is told."""
    mine = unlike(reference.model, candidate.model)
    yours = unlike(candidate.model, reference.model)
    if not mine and not yours:
        return [], []
    if widths(candidate.model.graph) - widths(reference.model.graph):
        # A quantizer is meant for the values that it was calibrated with: beyond, it differs by
        # design, and so does everything behind it.
        why = "a candidate of lower precision differs on other values by design"
        return [], [Skipped(what="probes", why=why)]
    if candidate.oracle().capabilities.feed != "all" or (
        reference.oracle().capabilities.feed != "all"
    ):
        why = "a trace cannot be given other values"
        return [], [Skipped(what=f"probes of {len(mine) + len(yours)} nodes", why=why)]
    matcher = look(reference, candidate, draws=_ONE_DRAW)
    ours, theirs = _affordable(mine, matcher.reference), _affordable(yours, matcher.candidate)
    found: dict[str, Latent] = {}
    for each in _probed(paired(matcher), ours, theirs, candidate.seed):
        found.setdefault(str(each.finding.node), each)
    skipped = []
    if (left := len(mine) + len(yours) - len(ours) - len(theirs)) > 0:
        why = (
            f"{MOST_PROBED_NODES} of a side, and {MOST_PROBED_VALUES:,} values, are probed at most"
        )
        skipped.append(Skipped(what=f"probes of {left} nodes", why=why))
    return list(found.values()), skipped


def _affordable(nodes: list[Node], capture: TensorCapture) -> list[Node]:
    """Operators with a line that inputs may stay on one side of first, then the small ones."""

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
        departure = _departure(node, known, ways_of_candidate, seed)
        if departure is not None:
            yield _latent(node, matcher.reference.topology.maker.get(departure.way.reference),
                          departure)  # fmt: skip
    for node in ref:
        departure = _departure(node, known, ways_of_reference, seed)
        if departure is not None:
            yield _latent(_stand_in(matcher, departure.way), node, departure)


def _departure(
    node: Node, known: Paired, ways_of: Callable[[Node, Paired], list[Way]], seed: int
) -> Departure | None:
    """How a node differs from every stretch of the other side that was tried in its place."""
    with noted_limits() as hit:
        ways = ways_of(node, known)
    departure = probe(known.matcher, ways, seed) if ways else None
    if departure is not None:  # one that was not tried might agree
        for limit in hit:
            limit.reached()
    return departure


def _stand_in(matcher: ValueMatcher, way: Way) -> Node | None:
    """The candidate's node in question; one that is missing is named by its consumer."""
    topology = matcher.candidate.topology
    if way.candidate not in {cand for _, cand, _ in way.sources}:
        return topology.maker.get(way.candidate)
    return next(iter(topology.readers.get(way.candidate, ())), topology.maker.get(way.candidate))


def _latent(node: Node | None, counterpart: Node | None, departure: Departure) -> Latent:
    name = node.name if node is not None else departure.way.candidate
    told = f"node {name!r}" + (f" ({node.op})" if node is not None else "")
    like = f"{counterpart.name!r} ({counterpart.op})" if counterpart is not None else "nothing"
    example = _example(departure)
    finding = Finding(
        rank=0,
        code="LATENT",
        cause="control_flow" if _decides(node) or _decides(counterpart) else "attribute",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.LATENT,
        summary=f"{told} does what the reference's {like} does on the given inputs, but not on "
        f"values {departure.kind}{example}",
        node=name,
        nodes=(name,),
        tensors=(departure.way.candidate,),
        reference_nodes=(counterpart.name,) if counterpart is not None else (),
        source=counterpart.source if counterpart is not None else None,
        evidence={"probe": departure.kind},
    )
    return Latent(finding=finding, departure=departure)


def _decides(node: Node | None) -> bool:
    """Whether what it does hangs on a condition: the other side may have frozen one way of it."""
    return node is not None and bool(node.bodies)


def _example(departure: Departure) -> str:
    """One element: what went in and what came out, where the node works element by element."""
    ref, cand = departure.reference, departure.candidate
    with np.errstate(all="ignore"):
        apart = np.abs(ref.astype(np.float64) - cand.astype(np.float64))
    place = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    result = f"{cand.flat[place]:.4g} instead of {ref.flat[place]:.4g}"
    given = [value for value in departure.given.values() if value.size == ref.size]
    if len(departure.given) == 1 and given and not departure.way.moved.moves:
        return f" (of {given[0].flat[place]:.4g} it makes {result})"
    return f" (it gives {result})"
