"""What a script needs that shows the fault of an extracted part without isomorph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph import registry
from isomorph.core.extraction import ScriptFacts, ScriptFeed, ScriptSide, ScriptSource, WritesScript
from isomorph.match.axis_layout import Rearrangement, arrangements
from isomorph.sessions.dequantized_session import grids

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization
    from isomorph.core.report import Report
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle

EXPECTED = "expected.npz"


class NoScriptError(Exception):
    """A script cannot do what is needed; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A model that was cut out, with the arrays that it is fed."""

    handle: ModelHandle
    feeds: Mapping[str, Array]


def of_pair(
    node: str,
    reference: Part,
    candidate: Part,
    *,
    bound: Mapping[str, str],
    moved: Rearrangement,
    report: Report,
) -> ScriptFacts:
    """The facts of two parts whose inputs are ``bound``; the arrays are the reference's."""
    keys = {name: ScriptFeed(name=name, key=name) for name in reference.feeds}
    others = {
        there: _arranged(there, here, reference.feeds[here], candidate.feeds[there])
        for here, there in bound.items()
    }
    return ScriptFacts(
        node=node,
        candidate=_side(candidate.handle, others),
        reference=_side(reference.handle, keys),
        order=moved.permutation if moved.moves else None,
        shape=moved.shape,
        explained=_explained(report),
    )


def of_run(node: str, candidate: Part, report: Report) -> ScriptFacts:
    """The facts of one part whose run is wrong; the right values are in a file."""
    keys = {name: ScriptFeed(name=name, key=name) for name in candidate.feeds}
    return ScriptFacts(
        node=node,
        candidate=_side(candidate.handle, keys),
        expected=EXPECTED,
        explained=_explained(report),
    )


def _side(handle: ModelHandle, feeds: Mapping[str, ScriptFeed]) -> ScriptSide:
    graph = handle.model.graph
    missing = [spec.name for spec in graph.inputs if spec.name not in feeds]
    if missing:
        raise NoScriptError(f"input {missing[0]!r} has no counterpart")
    known = grids(graph)
    return ScriptSide(
        file=Path(handle.model.location).name,
        source=_source(handle),
        feeds=tuple(_on_grid(feeds[spec.name], known) for spec in graph.inputs),
        output=_output(graph),
        grid=known.get(_output(graph)),
    )


def _on_grid(feed: ScriptFeed, known: Mapping[str, Quantization]) -> ScriptFeed:
    grid = known.get(feed.name)
    return ScriptFeed(name=feed.name, key=feed.key, order=feed.order, shape=feed.shape, grid=grid)


def _output(graph: Graph) -> str:
    return graph.outputs[0].name


def _source(handle: ModelHandle) -> ScriptSource:
    runtime = registry.runtime(handle.runtime)
    found = None
    if isinstance(runtime, WritesScript):
        found = runtime.script_source(handle.model, handle.settings)
    if found is None:
        raise NoScriptError(f"runtime {handle.runtime!r} is not run so by a plain script")
    return found


def _arranged(name: str, key: str, source: Array, target: Array) -> ScriptFeed:
    """How an array of the reference becomes that of the candidate, which has the same values."""
    if source.shape == target.shape and np.array_equal(source, target, equal_nan=_floats(source)):
        return ScriptFeed(name=name, key=key)
    for moved in arrangements(source.shape, target.shape):
        if np.array_equal(moved.array(source), target, equal_nan=_floats(source)):
            order = moved.permutation if moved.moves else None
            return ScriptFeed(name=name, key=key, order=order, shape=moved.shape)
    if source.shape == target.shape:
        return ScriptFeed(name=name, key=key)  # the same values in another type
    raise NoScriptError(f"input {name!r} has another arrangement than its counterpart")


def _floats(value: Array) -> bool:
    return value.dtype.kind == "f"


def _explained(report: Report) -> float:
    """The largest difference that is no fault: what is seen, by how far it exceeds its budget."""
    for output in report.outputs:
        for term in (output.intended_loss, output.rounding, output.execution_candidate):
            ratio = term.budget.ratio if term is not None else None
            most = term.distance.max_abs if term is not None else None
            if ratio and most and ratio > 1.0 and math.isfinite(most) and math.isfinite(ratio):
                return float(most / ratio)
    return 0.0
