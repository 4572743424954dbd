"""Both graphs node by node, and then the bodies of their branches and loops, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import MOST_BODIES, NESTED_BODIES
from isomorph.core.profile import CloseUp
from isomorph.core.report import Skipped
from isomorph.core.trace import Noise
from isomorph.localize.fault_search import Search
from isomorph.localize.flat_profile import Row, renamed, rows, spliced
from isomorph.localize.locate import Located
from isomorph.localize.loop_runner import Walk
from isomorph.localize.node_errors import Columns, value_at
from isomorph.localize.subgraph_nodes import described
from isomorph.localize.subgraph_search import Inside, enter, first_inside
from isomorph.match.dequantized_graph import dequantized
from isomorph.match.tensor_capture import TensorCapture
from isomorph.measure.tensor_details import close_up

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle

PROFILE = "error profile"
"""How begins what is told of those that could not be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One graph of each side as it was looked at: the whole models, or a body of each."""

    reference: EvaluatedModel
    candidate: EvaluatedModel
    located: Located
    outputs: Sequence[tuple[str, str]]
    depth: int = 0


@dataclass(slots=True, kw_only=True)
class Drawing:
    """What was measured of both graphs, bodies included, and what could not be.

    Without ``all_bodies`` only those of guilty nodes are entered.
    """

    all_bodies: bool
    close_ups: list[CloseUp] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    _entered: int = 0

    def drawn(self, level: Level) -> tuple[list[Row], list[Row]]:
        """The rows of the reference and of the candidate."""
        matcher, faults = level.located.matcher, level.located.chain.faults
        search = Search(matcher, level.outputs, {each.tensor: each.value for each in faults})
        left, right = (
            Columns("reference", matcher.reference),
            Columns("candidate", matcher.candidate),
        )
        self.run(left, level.reference)
        self.run(right, level.candidate)
        right.translation(search, faults)
        self.close_ups += _guilty(matcher.candidate, faults, level.candidate)
        told = left.told()
        ref, cand = rows(told), rows(right.told(left), told)
        inner: tuple[dict[str, list[Row]], dict[str, list[Row]]] = ({}, {})
        sides = level.reference.opened, level.candidate.opened
        names = [each.node for each in faults]
        for node in self._holders(matcher.candidate.graph, level.depth, names):
            with self._entering(node) as folder:
                if sides[0] is None or sides[1] is None:
                    continue
                within = _inside(node, level, search, (sides[0], sides[1]), folder)
                if within is not None:
                    found = self._within(within, level.depth + 1)
                    inner[0][within.holder], inner[1][node.name] = found
        return spliced(ref, inner[0]), spliced(cand, inner[1])

    def _within(self, within: Inside, depth: int) -> tuple[list[Row], list[Row]]:
        """The rows of a pair of bodies, under the names of the whole models."""
        before = len(self.close_ups)
        level = Level(
            reference=within.reference,
            candidate=within.candidate,
            located=within.located,
            outputs=within.outputs,
            depth=depth,
        )
        mine, yours = self.drawn(level)
        ours, theirs = within.ours, within.theirs
        self.close_ups[before:] = [
            replace(each, node=ours.node(each.node or "")) for each in self.close_ups[before:]
        ]
        return (
            renamed(mine, theirs, ours, within.round),
            renamed(yours, ours, theirs, within.round),
        )

    def run(self, columns: Columns, subject: EvaluatedModel) -> None:
        """A runtime that fails, or gives only its outputs, leaves its column empty."""
        what = f"{PROFILE} of the {columns.role}'s run"
        try:
            session = subject.runtime()
            if session.capabilities.fetch != "all":
                why = "this session gives no tensors but its outputs"
                self._skip(what, why)
                return
            columns.execution(dequantized(session, subject.model.graph))
        except IsomorphError as error:
            self._skip(what, error.sentence)

    def _skip(self, what: str, why: str) -> None:
        told = Skipped(what=what, why=why)
        if told not in self.skipped:
            self.skipped.append(told)

    def alone(self, subject: EvaluatedModel, depth: int = 0) -> list[Row]:
        """The rows of one model without another, its run beside its own oracle."""
        graph = subject.model.graph
        noise = Noise(seed=subject.seed, rounding=True)
        capture = TensorCapture(graph, dequantized(subject.oracle(), graph), subject.feeds, noise)
        capture.compute()
        columns = Columns("candidate", capture)
        self.run(columns, subject)
        inner: dict[str, list[Row]] = {}
        opened = subject.opened
        for node in self._holders(graph, depth):
            with self._entering(node) as folder:
                if opened is None:
                    continue
                walk = Walk(opened, node, capture, {}, folder / "candidate")
                now = next(walk.rounds(), None)
                if now is not None:
                    found = self.alone(walk.subject(), depth + 1)
                    names = described(walk.body().opened.model.graph, node, now.key)
                    inner[node.name] = renamed(found, names, names, now.number)
        return spliced(rows(columns.told()), inner)

    def _holders(self, graph: Graph, depth: int, guilty: Sequence[str] = ()) -> Iterator[Node]:
        """The nodes whose bodies are looked into: the guilty, then others as far as that goes."""
        held = [
            node for node in graph.nodes if node.bodies and (self.all_bodies or node.name in guilty)
        ]
        for node in sorted(held, key=lambda each: each.name not in guilty):
            if depth >= NESTED_BODIES.most:
                what = f"{PROFILE} inside branches and loops that lie deeper"
                self._skip(what, NESTED_BODIES.why)
                return
            if self._entered >= MOST_BODIES:
                why = f"the bodies of {MOST_BODIES} nodes were looked into, those of others not"
                self._skip(f"{PROFILE} inside more branches and loops", why)
                return
            self._entered += 1
            yield node

    @contextmanager
    def _entering(self, node: Node) -> Iterator[Path]:
        """A folder for the bodies of a node; one that cannot be cut out is seen from outside."""
        with TemporaryDirectory(prefix="isomorph-bodies-") as folder:
            try:
                yield Path(folder)
            except (IsomorphError, ValueError, KeyError) as error:
                told = error.sentence if isinstance(error, IsomorphError) else str(error)
                self._skip(f"{PROFILE} inside {node.name!r}", told)


def _inside(
    node: Node, level: Level, search: Search, sides: tuple[ModelHandle, ModelHandle], folder: Path
) -> Inside | None:
    faults = level.located.chain.faults
    fault = next((each for each in faults if each.node == node.name), None)
    if fault is None:
        return first_inside(node, search, sides, folder)
    earlier = {each.tensor: each.value for each in faults[: faults.index(fault)]}
    return enter(fault, level.located, earlier, sides, folder)


def _guilty(
    capture: TensorCapture, faults: Sequence[Fault], subject: EvaluatedModel
) -> Iterator[CloseUp]:
    """Each guilty tensor as its node makes it from right inputs, beside the right value."""
    given: dict[str, Array] = {}
    for fault in faults:
        value = value_at(capture, fault.tensor, given)
        given[fault.tensor] = fault.value
        if value is None:
            continue
        spec = capture.graph.tensors.get(fault.tensor)
        seen = close_up(
            "node",
            (fault.counterpart, fault.tensor),
            np.asarray(fault.value),
            value,
            node=fault.node,
            dtype=spec.dtype if spec is not None else None,
            feeds=arrays(subject.feeds),
        )
        if seen is not None:
            yield seen


def arrays(feeds: Mapping[str, object]) -> dict[str, Array]:
    """The feeds that are arrays."""
    return {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
