"""The guilty places of two models, those inside bodies first, with all that cutting them needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.io_dequantize import meet
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.report import Binding
from isomorph.inputs import feeds as feeding
from isomorph.localize.fault import Guilt
from isomorph.localize.locate import Located, locate, locate_execution
from isomorph.localize.subgraph_search import enter
from isomorph.match.binding import bind_inputs, bind_outputs
from isomorph.measure import input_layout
from isomorph.measure.evaluated_model import Subject
from isomorph.sessions.model_handle import Opened

if TYPE_CHECKING:
    from isomorph.checking.check import Wishes
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.feeds import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Two models, the inputs if any were given, and the node if one was named."""

    reference: Opened
    candidate: Opened
    given: Sample | None
    wishes: Wishes
    node: str | None = None
    ops: tuple[str, ...] = ()
    """Modules that say what custom operators mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A guilty place and the two models in which it lies: the given ones, or bodies of theirs."""

    node: str
    guilt: Guilt
    located: Located
    sides: tuple[Opened, Opened]
    feeds: tuple[Arrays, Arrays]

    @property
    def earlier(self) -> dict[str, Array]:
        """The right values of the guilty places before it."""
        guilts = self.located.trail.guilts
        if self.guilt not in guilts:
            return {}
        return {each.tensor: each.value for each in guilts[: guilts.index(self.guilt)]}


def places(request: Request, work: Path) -> Iterator[Place]:
    """The place in the innermost body first, then whatever holds it."""
    wishes, node = request.wishes, request.node
    met = meet(request.reference, request.candidate, wishes.bind_inputs, wishes.bind_outputs)
    left, right = met.reference, met.candidate
    inputs = bind_inputs(left.model.graph.inputs, right.model.graph.inputs, wishes.bind_inputs)
    outputs = bind_outputs(left.model.graph.outputs, right.model.graph.outputs, wishes.bind_outputs)
    pairs = [(pair.reference, pair.candidate) for pair in outputs]
    made_up = () if request.given is not None else met.made_up(inputs, wishes.dims, wishes.seed)
    for sample in (request.given, *made_up):
        if sample is None:
            continue
        mine = _subject(left, left.real(sample.feeds), wishes)
        yours = _subject(right, _arranged(mine, right, inputs, wishes), wishes)
        located, sides = locate(mine, yours, pairs), (left, right)
        fault = _chosen(located, node)
        if fault is None and not located.trail.guilts and located.trail.explained:
            # The graphs agree: it is the run that is to blame, if anything is.
            located, sides = locate_execution(yours, [yours for _, yours in pairs]), (right, right)
            fault = _chosen(located, node)
        if fault is not None:
            feeds = (mine.feeds if sides[0] is left else yours.feeds, yours.feeds)
            place = Place(node=fault.node, guilt=fault, located=located, sides=sides, feeds=feeds)
            yield from _inside(place, node, work)
            yield place
            return
    raise UsageError(
        "NOTHING_TO_EXTRACT",
        f"node {node!r} is not guilty of anything" if node else "no node is guilty of anything",
        fix="see what isomorph check says, or give inputs on which the models differ",
    )


def _arranged(
    mine: Subject, candidate: Opened, inputs: Sequence[Binding], wishes: Wishes
) -> dict[str, Array]:
    """The reference's feeds under the candidate's names, types and arrangement of axes."""
    graph = candidate.model.graph
    taker = input_layout.Taker(
        inputs=graph.inputs,
        outputs=list(dict.fromkeys(spec.name for spec in graph.outputs)),
        oracle=candidate.oracle,
    )
    settled = input_layout.settle(mine, taker, inputs, wishes.layouts)
    feeds = {name: np.asarray(value) for name, value in mine.feeds.items()}
    return input_layout.rearranged(feeding.carried_over(feeds, inputs, graph.inputs), settled)


def _subject(opened: Opened, feeds: Mapping[str, Array], wishes: Wishes) -> Subject:
    return Subject(
        role=opened.role, model=opened.model, feeds=feeds, runtime=opened.run,
        plain=opened.plain, oracle=opened.oracle, seed=wishes.seed, opened=opened,
    )  # fmt: skip


def _chosen(located: Located, node: str | None) -> Guilt | None:
    """The guilt of the named node, or of what holds its body; the first where none is named."""
    guilts = located.trail.guilts
    if node is None:
        return guilts[0] if guilts else None
    exact = [each for each in guilts if node == each.node]
    among = [each for each in guilts if node in each.nodes or node.startswith(f"{each.node}/")]
    return next(iter([*exact, *among]), None)


def _inside(place: Place, node: str | None, work: Path) -> Iterator[Place]:
    """Guilty places in the bodies of a guilty node, the innermost first."""
    holder = {each.name: each for each in place.located.twins.candidate.graph.nodes}[place.node]
    if not holder.bodies:
        return
    folder = work / f"body-{place.node.count('/')}"
    try:
        within = enter(place.guilt, place.located, place.earlier, place.sides, folder)
    except (IsomorphError, ValueError, KeyError):
        return
    if within is None or within.reference.opened is None or within.candidate.opened is None:
        return
    wanted = within.ours.in_part(node) if node else None
    guilt = _chosen(within.located, wanted) or within.located.trail.guilts[0]
    inner = Place(
        node=within.ours.node(guilt.node),
        guilt=guilt,
        located=within.located,
        sides=(within.reference.opened, within.candidate.opened),
        feeds=(within.reference.feeds, within.candidate.feeds),
    )
    yield from _inside(replace(inner, node=guilt.node), wanted, work / "deeper")
    yield inner
