"""Profile both graphs node by node, then the bodies of branches and loops, level by level."""

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
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.profile import CloseUp
from isomorph.core.report import ReportSection, Skipped
from isomorph.core.trace import Noise
from isomorph.localize.fault_search import Search
from isomorph.localize.flat_profile import Row, renamed, rows, with_bodies
from isomorph.localize.locate import Located
from isomorph.localize.loop_runner import LoopRunner
from isomorph.localize.node_errors import NodeErrors, value_at
from isomorph.localize.subgraph_nodes import subgraph_names
from isomorph.localize.subgraph_search import BodyFault, first_iteration, search_body
from isomorph.match.dequantized_graph import dequantized
from isomorph.match.tensor_capture import TensorCapture
from isomorph.measure.tensor_details import close_up

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle

PROFILE = ReportSection.PROFILE
"""How the entries about unmeasured nodes start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One captured graph of each model: the whole models, or a body of each."""

    reference: EvaluatedModel
    candidate: EvaluatedModel
    located: Located
    outputs: Sequence[tuple[str, str]]
    depth: int = 0


@dataclass(slots=True, kw_only=True)
class ProfileBuilder:
    """Measures both graphs, including bodies, and lists what could not be measured.

    Without ``all_bodies`` only the bodies of faulty nodes are entered.
    """

    all_bodies: bool
    close_ups: list[CloseUp] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    _entered: int = 0

    def rows(self, level: Level) -> tuple[list[Row], list[Row]]:
        """Return the rows of the reference and of the candidate."""
        matcher, faults = level.located.matcher, level.located.chain.faults
        search = Search(matcher, level.outputs, {each.tensor: each.value for each in faults})
        left, right = (
            NodeErrors("reference", matcher.reference),
            NodeErrors("candidate", matcher.candidate),
        )
        self.run(left, level.reference)
        self.run(right, level.candidate)
        right.translation(search, faults)
        self.close_ups += _fault_details(matcher.candidate, faults, level.candidate)
        ref_profile = left.profile()
        ref, cand = rows(ref_profile), rows(right.profile(left), ref_profile)
        inner: tuple[dict[str, list[Row]], dict[str, list[Row]]] = ({}, {})
        sides = level.reference.handle, level.candidate.handle
        names = [each.node for each in faults]
        for node in self._holders(matcher.candidate.graph, level.depth, names):
            with self._entering(node) as folder:
                if sides[0] is None or sides[1] is None:
                    continue
                within = _inside(node, level, search, (sides[0], sides[1]), folder)
                if within is not None:
                    found = self._within(within, level.depth + 1)
                    inner[0][within.holder], inner[1][node.name] = found
        return with_bodies(ref, inner[0]), with_bodies(cand, inner[1])

    def _within(self, within: BodyFault, depth: int) -> tuple[list[Row], list[Row]]:
        """Return the rows of a pair of bodies, under the names of the whole models."""
        before = len(self.close_ups)
        level = Level(
            reference=within.reference,
            candidate=within.candidate,
            located=within.located,
            outputs=within.outputs,
            depth=depth,
        )
        ref, cand = self.rows(level)
        cand_names, ref_names = within.candidate_names, within.reference_names
        self.close_ups[before:] = [
            replace(each, node=cand_names.node(each.node or "")) for each in self.close_ups[before:]
        ]
        return (
            renamed(ref, ref_names, cand_names, within.round),
            renamed(cand, cand_names, ref_names, within.round),
        )

    def run(self, columns: NodeErrors, evaluated: EvaluatedModel) -> None:
        """Measure a run; one that fails, or returns only its outputs, leaves its column empty."""
        try:
            session = evaluated.runtime()
            if session.capabilities.fetch != "all":
                why = message("SKIPPED.outputs_only.why")
                self._skip(not_done("profile_run", why, section=PROFILE, role=columns.role))
                return
            columns.explain_run(evaluated.run_dtype)
            columns.execution(dequantized(session, evaluated.model.graph))
        except IsomorphError as error:
            skipped = not_done("profile_run", error.sentence, section=PROFILE, role=columns.role)
            self._skip(skipped)

    def _skip(self, skipped: Skipped) -> None:
        if skipped not in self.skipped:
            self.skipped.append(skipped)

    def alone(self, evaluated: EvaluatedModel, depth: int = 0) -> list[Row]:
        """Return the rows of a single model, its run compared with its own oracle."""
        graph = evaluated.model.graph
        noise = Noise(
            seed=evaluated.seed, rounding=True, run_time=True, run_dtype=evaluated.run_dtype
        )
        capture = TensorCapture(
            graph, dequantized(evaluated.oracle(), graph), evaluated.feeds, noise
        )
        capture.compute()
        columns = NodeErrors("candidate", capture)
        self.run(columns, evaluated)
        inner: dict[str, list[Row]] = {}
        handle = evaluated.handle
        for node in self._holders(graph, depth):
            with self._entering(node) as folder:
                if handle is None:
                    continue
                runner = LoopRunner(handle, node, capture, {}, folder / "candidate")
                now = next(runner.rounds(), None)
                if now is not None:
                    found = self.alone(runner.evaluated(), depth + 1)
                    names = subgraph_names(runner.body().handle.model.graph, node, now.key)
                    inner[node.name] = renamed(found, names, names, now.number)
        return with_bodies(rows(columns.profile()), inner)

    def _holders(self, graph: Graph, depth: int, faulty: Sequence[str] = ()) -> Iterator[Node]:
        """Yield the nodes whose bodies are profiled: faulty ones first, up to the limit."""
        holders = [
            node for node in graph.nodes if node.bodies and (self.all_bodies or node.name in faulty)
        ]
        for node in sorted(holders, key=lambda each: each.name not in faulty):
            if depth >= NESTED_BODIES.most:
                self._skip(not_done("profile_deeper", NESTED_BODIES.why, section=PROFILE))
                return
            if self._entered >= MOST_BODIES:
                self._skip(not_done("profile_more", section=PROFILE, most=MOST_BODIES))
                return
            self._entered += 1
            yield node

    @contextmanager
    def _entering(self, node: Node) -> Iterator[Path]:
        """Provide a folder for the bodies of a node; a body that cannot be extracted is skipped."""
        with TemporaryDirectory(prefix="isomorph-bodies-") as folder:
            try:
                yield Path(folder)
            except (IsomorphError, ValueError, KeyError) as error:
                why = error.sentence if isinstance(error, IsomorphError) else str(error)
                self._skip(not_done("profile_inside", why, section=PROFILE, node=node.name))


def _inside(
    node: Node, level: Level, search: Search, sides: tuple[ModelHandle, ModelHandle], folder: Path
) -> BodyFault | None:
    faults = level.located.chain.faults
    fault = next((each for each in faults if each.node == node.name), None)
    if fault is None:
        return first_iteration(node, search, sides, folder)
    earlier = {each.tensor: each.value for each in faults[: faults.index(fault)]}
    return search_body(fault, level.located, earlier, sides, folder)


def _fault_details(
    capture: TensorCapture, faults: Sequence[Fault], evaluated: EvaluatedModel
) -> Iterator[CloseUp]:
    """Yield each faulty tensor, computed from right inputs, with its right value."""
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
            feeds=arrays(evaluated.feeds),
        )
        if seen is not None:
            yield seen


def arrays(feeds: Mapping[str, object]) -> dict[str, Array]:
    """Return the feeds that are arrays."""
    return {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
