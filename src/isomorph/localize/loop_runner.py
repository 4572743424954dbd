"""Run the bodies of a branch or loop of one model iteration by iteration, as models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import ROUNDS
from isomorph.core.subgraph import Piece
from isomorph.localize.loop_steps import Read, Round, captured, first_round, next_round
from isomorph.match.tensor_capture import TensorCapture
from isomorph.match.topology import Topology
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.sessions.fetched_feeds import Source, as_declared, feeds_from, renamed
from isomorph.sessions.in_process import extractor
from isomorph.sessions.model_handle import ModelHandle

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array


class LoopRunner:
    """Runs the iterations of one branch or loop node of one model."""

    def __init__(
        self,
        handle: ModelHandle,
        node: Node,
        capture: TensorCapture,
        given: Mapping[str, Array],
        folder: Path,
    ) -> None:
        self.node, self._handle, self._capture, self._given = node, handle, capture, given
        self._folder = folder
        folder.mkdir(parents=True)
        self._bodies: dict[str, Body] = {}
        self.results: list[Mapping[str, Array]] = []
        self.now: Round | None = None

    def rounds(self) -> Iterator[Round]:
        """Run the iterations, and yield each one afterward."""
        now = first_round(self.node, self.read)
        while now is not None:
            if len(self.results) >= ROUNDS.most:
                ROUNDS.reached()
                return
            self.now = now
            self.results.append(self.run(now))
            yield now
            now = next_round(self.node, now, self.results[-1], self.read)

    def run(self, now: Round) -> Mapping[str, Array]:
        """Return the results of one iteration, by the body's own names."""
        inner = self.node.bodies[now.key]
        made = {name for node in inner.nodes for name in node.outputs}
        if not any(spec.name in made for spec in inner.outputs):
            # A branch that only passes on its inputs cannot be extracted as a model.
            return {**{name: self.read(name) for name in captured(inner)}, **now.feeds}
        return self.body(now).run(now)

    def body(self, now: Round | None = None) -> Body:
        """Return the body of an iteration (default: the last) as a model, extracted once."""
        now = now or self.now
        assert now is not None, "no round was run"
        if now.key not in self._bodies:
            self._bodies[now.key] = _cut_out(self._handle, self.node, now, self.read, self._folder)
        return self._bodies[now.key]

    def evaluated(self) -> EvaluatedModel:
        """Return the body on the inputs of the last iteration."""
        assert self.now is not None, "no round was run"
        return self.body().evaluated(self.now)

    def read(self, name: str) -> Array:
        """Return a tensor of the enclosing graph, with earlier faults corrected."""
        if name in self._given:
            return self._given[name]
        if name in self._capture.graph.constants or self._given:
            return self._capture.fetched(name, self._given)
        if name in self._capture.values:
            return self._capture.values[name]
        return self._capture.fetched(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """An extracted body, and the names of its inputs and outputs in the model and in the body."""

    handle: ModelHandle
    outer: Mapping[str, Array]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    seed: int = field(default=0)

    def feeds(self, now: Round) -> dict[str, Array]:
        """Return the inputs of an iteration under the names of the extracted model."""
        return renamed({**self.outer, **now.feeds}, self.inputs)

    def run(self, now: Round) -> dict[str, Array]:
        """Return the results of one iteration, by the body's own names."""
        found = self.handle.oracle().run(self.feeds(now), list(self.outputs.values()))
        results = {old: np.asarray(found[new]) for old, new in self.outputs.items()}
        return {**self.outer, **now.feeds, **results}

    def evaluated(self, now: Round) -> EvaluatedModel:
        """Return the body on the inputs of one iteration as an evaluated model."""
        return EvaluatedModel.of(self.handle, self.feeds(now), seed=self.seed)


def _cut_out(handle: ModelHandle, node: Node, now: Round, read: Read, folder: Path) -> Body:
    body = node.bodies[now.key]
    constants = handle.model.graph.constants
    outer = {name: read(name) for name in captured(body) if name not in constants}
    read_inside = {name for inner in body.nodes for name in Topology.reads(inner)}
    read_inside.update(spec.name for spec in body.outputs)
    names = [*(spec.name for spec in body.inputs if spec.name in read_inside), *outer]
    made = {name for inner in body.nodes for name in inner.outputs}
    fetch = list(dict.fromkeys(spec.name for spec in body.outputs if spec.name in made))
    specs = {spec.name: spec for spec in body.inputs} | {
        name: handle.model.graph.tensors[name] for name in outer
    }
    sources = {name: Source(name=name, convert=as_declared(specs[name])) for name in names}
    examples = feeds_from({**outer, **now.feeds}, sources)
    piece = Piece(feeds=tuple(names), fetch=tuple(fetch), node=node.name, body=now.key)
    framework = handle.model.framework
    path = folder / f"{now.key.replace('/', '_')}{extractor(framework).suffix}"
    handle.host.cut(handle.model, piece, examples, path)
    model = handle.host.load(str(path), framework, {})
    alone = ModelHandle(
        role=handle.role, model=model, host=handle.host, runtime=handle.runtime,
        settings=handle.settings, oracle_settings=handle.oracle_settings,
    )  # fmt: skip
    return Body(
        handle=alone,
        outer=outer,
        inputs=dict(zip(names, [spec.name for spec in model.graph.inputs], strict=True)),
        outputs=dict(zip(fetch, [spec.name for spec in model.graph.outputs], strict=True)),
    )
