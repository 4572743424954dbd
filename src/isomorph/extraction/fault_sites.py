"""The faults of two models, those inside bodies first, with what cutting them out needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.checking.prepare import prepare_pair
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.localize.fault import Fault
from isomorph.localize.locate import Located, locate, locate_execution
from isomorph.localize.subgraph_search import search_body
from isomorph.sessions.model_handle import ModelHandle

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.feeds import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Two models, the inputs if any were given, and the node if one was named."""

    reference: ModelHandle
    candidate: ModelHandle
    given: Sample | None
    options: CheckConfig
    node: str | None = None
    ops: tuple[str, ...] = ()
    """Modules that define custom operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A fault and the two models that contain it: the given ones, or bodies in them."""

    node: str
    fault: Fault
    located: Located
    sides: tuple[ModelHandle, ModelHandle]
    feeds: tuple[Arrays, Arrays]

    @property
    def earlier(self) -> dict[str, Array]:
        """The right values at the faults before it."""
        faults = self.located.chain.faults
        if self.fault not in faults:
            return {}
        return {each.tensor: each.value for each in faults[: faults.index(self.fault)]}


def places(request: Request, work: Path) -> Iterator[Place]:
    """The place in the innermost body first, then the nodes that contain it."""
    node = request.node
    prepared = prepare_pair(request.reference, request.candidate, request.options)
    left, right, pairs = prepared.reference, prepared.candidate, prepared.output_names
    samples = [request.given] if request.given is not None else prepared.generated_samples()
    for sample in samples:
        ref, cand = prepared.evaluate(sample)
        located, sides = locate(ref, cand, pairs), (left, right)
        fault = _chosen(located, node)
        if fault is None and not located.chain.faults and located.chain.explained:
            # The graphs agree: only the run can be wrong.
            located, sides = locate_execution(cand, [cand for _, cand in pairs]), (right, right)
            fault = _chosen(located, node)
        if fault is not None:
            feeds = (ref.feeds if sides[0] is left else cand.feeds, cand.feeds)
            place = Place(node=fault.node, fault=fault, located=located, sides=sides, feeds=feeds)
            yield from _inside(place, node, work)
            yield place
            return
    raise UsageError(
        "NOTHING_TO_EXTRACT",
        f"node {node!r} is not at fault" if node else "no node is at fault",
        fix="see the report of isomorph check, or give inputs on which the models differ",
    )


def _chosen(located: Located, node: str | None) -> Fault | None:
    """The fault of the named node, or of the node that contains it; the first by default."""
    faults = located.chain.faults
    if node is None:
        # Where an input is quantized wrongly, the reference computes nothing that could be cut out.
        made = located.matcher.reference.topology.maker
        return next((each for each in faults if each.counterpart in made), next(iter(faults), None))
    exact = [each for each in faults if node == each.node]
    among = [each for each in faults if node in each.nodes or node.startswith(f"{each.node}/")]
    return next(iter([*exact, *among]), None)


def _inside(place: Place, node: str | None, work: Path) -> Iterator[Place]:
    """Faults in the bodies of a faulty node, the innermost first."""
    holder = {each.name: each for each in place.located.matcher.candidate.graph.nodes}[place.node]
    if not holder.bodies:
        return
    folder = work / f"body-{place.node.count('/')}"
    try:
        within = search_body(place.fault, place.located, place.earlier, place.sides, folder)
    except (IsomorphError, ValueError, KeyError):
        return
    if within is None or within.reference.handle is None or within.candidate.handle is None:
        return
    inner_node = within.candidate_names.in_part(node) if node else None
    fault = _chosen(within.located, inner_node) or within.located.chain.faults[0]
    inner = Place(
        node=within.candidate_names.node(fault.node),
        fault=fault,
        located=within.located,
        sides=(within.reference.handle, within.candidate.handle),
        feeds=(within.reference.feeds, within.candidate.feeds),
    )
    yield from _inside(replace(inner, node=fault.node), inner_node, work / "deeper")
    yield inner
