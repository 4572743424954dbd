"""The stored value that the reference has, in the arrangement that the candidate wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.patch import (
    AddConstant,
    Edit,
    InsertBehind,
    Patch,
    SetInput,
    SetQuantization,
)
from isomorph.diagnose import node_constants
from isomorph.diagnose.folded_constants import folded
from isomorph.diagnose.parameters import dtype_of, fresh, stored
from isomorph.diagnose.recurrent_weights import recurrent
from isomorph.diagnose.requantize import requantized
from isomorph.diagnose.subgraph_weights import inside_bodies
from isomorph.fixes._around import neighbors
from isomorph.fixes._grids import reals, stored_on_grids
from isomorph.localize.weight_findings import CODE
from isomorph.match.dequantized_graph import beside
from isomorph.match.value_match import placements, ways

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding
    from isomorph.core.trace import Array

_BIAS_INPUT = {"Conv": 2, "ConvTranspose": 2, "Gemm": 2, "FusedConv": 2, "LayerNormalization": 2}
_TFLITE_BIAS_INPUT = {"TRANSPOSE_CONV": 3}


class Weight:
    """Give a constant the reference's values, reorder gate blocks, or add a bias that is gone."""

    name = "weight"

    def propose(self, finding: Finding, case: FaultContext) -> Iterator[Patch]:
        """The constant that the evidence names first; then the others; then reordering."""
        if finding.code == CODE:
            yield _set(
                case, [(case.tensor, case.right)], "the reference's numbers, where it differs"
            )
            return
        named = finding.evidence.get("constant")
        mine = [*node_constants.floats(case.candidate, case.nodes), *stored_on_grids(case)]
        mine.sort(key=lambda name: name != named)
        for name in mine:
            yield from _replaced(case, name)
        yield from _of_another_node(case)
        yield from _folded(case, mine)
        for each in requantized(case):
            words = f"the reference's {each.source}, quantized again"
            yield _set(case, [(each.name, each.integers)], words)
        yield from inside_bodies(case)
        yield from _channels(case, mine)
        yield from _biases(case)
        for values, words in recurrent(case):
            yield _set(case, values, words)


def _set(case: FaultContext, values: Sequence[tuple[str, Array]], source: str) -> Patch:
    edits: tuple[Edit, ...] = ()
    for name, value in values:
        edits += stored(case, name, value)
    names = ", ".join(repr(name) for name, _ in values)
    return Patch(summary=f"constant {names}: {source}", edits=edits)


def _held(case: FaultContext, name: str) -> Array | None:
    """The real numbers that a constant of the candidate holds or stands for."""
    grid = stored_on_grids(case).get(name)
    return case.constant(case.candidate, name) if grid is None else reals(case, name, grid)


def _replaced(case: FaultContext, cand: str) -> Iterator[Patch]:
    """The counterpart's constants of the same size, in every arrangement that fits."""
    wrong = _held(case, cand)
    if wrong is None:
        return
    for ref, right in node_constants.alike_in_size(case, cand):
        for value in placements(right, wrong.shape):
            if not np.array_equal(value, wrong):
                yield _set(case, [(cand, value)], f"the values of the reference's {ref!r}")


def _of_another_node(case: FaultContext) -> Iterator[Patch]:
    """The reference's constant where another is read: of another size, or twice by one node."""
    for node in case.nodes:
        for counterpart in case.counterparts:
            # Either node may leave optional inputs out.
            places = zip(node.inputs, counterpart.inputs, strict=False)
            for place, (here, there) in enumerate(places if counterpart.op == node.op else ()):
                held, right = (
                    case.candidate.constants.get(here),
                    case.reference.constants.get(there),
                )
                if held is None or right is None or held.digest == right.digest:
                    continue
                value = case.constant(case.reference, there)
                other = held.shape != right.shape or node.inputs.count(here) > 1
                if value is None or not other or held.dtype != right.dtype:
                    continue
                own = fresh(case, f"{node.outputs[0]}_input_{place}")
                yield Patch(
                    summary=f"{node.op} {node.name!r}: input {place} is the reference's {there!r}",
                    edits=(
                        AddConstant(name=own, value=value.astype(right.dtype)),
                        SetInput(node=node.name, index=place, tensor=own),
                    ),
                )


def _folded(case: FaultContext, mine: Sequence[str]) -> Iterator[Patch]:
    """The counterpart's weights with its normalization worked in, one by one and together."""
    found: list[tuple[str, Array, str]] = []
    for source, right in folded(case):
        for name in mine:
            wrong = _held(case, name)
            if wrong is None or wrong.size != right.size:
                continue
            for moved in ways(right, wrong.shape):
                value = moved.array(right)
                found.append((name, value, source))
                yield _set(case, [(name, value)], f"the values of the reference's {source}")
    for one, other in combinations(found, 2):
        if one[0] != other[0]:
            yield _set(case, [one[:2], other[:2]], f"the values of the reference's {one[2]}")


def _channels(case: FaultContext, mine: Sequence[str]) -> Iterator[Patch]:
    """The rows of the weights in the order in which the right channels stand."""
    if case.right.ndim < 2 or case.right.shape != case.wrong.shape:
        return
    for axis in range(1, case.right.ndim):
        order = _matched(case.wrong, case.right, axis)
        if order is None or not case.equals(np.take(case.wrong, order, axis)):
            continue
        moved = []
        for name in mine:
            value = case.constant(case.candidate, name)
            for place in range(value.ndim) if value is not None else ():
                if value is not None and value.shape[place] == len(order):
                    moved.append((name, np.take(value, order, place)))
                    yield _set(case, [moved[-1]], "its channels reordered")
                    break
        if len(moved) > 1:
            yield _set(case, moved, "their channels reordered")


def _matched(wrong: Array, right: Array, axis: int) -> list[int] | None:
    """For each right channel the wrong one nearest to it; None unless each is used once."""
    left = np.moveaxis(wrong.astype(np.float64), axis, 0).reshape(wrong.shape[axis], -1)
    there = np.moveaxis(right.astype(np.float64), axis, 0).reshape(right.shape[axis], -1)
    if left.shape[0] > 4096 or not np.isfinite(left).all() or not np.isfinite(there).all():
        return None
    order = [int(np.argmin(np.mean(np.square(left - row), axis=1))) for row in there]
    return order if sorted(order) == list(range(len(order))) != order else None


def _biases(case: FaultContext) -> Iterator[Patch]:
    """A bias of the reference, or the one that the difference itself shows, added again."""
    slots = [node for node in neighbors(case, depth=1) if node.op in _BIAS_INPUT]
    for source, bias in (*_known_biases(case), *_shown_bias(case)):
        for node in slots:
            place = _TFLITE_BIAS_INPUT.get(node.native_op, _BIAS_INPUT[node.op])
            if place < len(node.inputs) and node.inputs[place]:
                yield from _raised(case, node, place, source, bias)
                continue
            if _fits(case, node, bias):
                yield Patch(
                    summary=f"{node.op} {node.name!r}: bias connected, {source}",
                    edits=_connected(case, node, place, bias),
                )
        for axis in range(case.wrong.ndim):
            if case.wrong.shape[axis] == bias.size:
                yield _added(case, bias, axis, source)


def _fits(case: FaultContext, node: Node, bias: Array) -> bool:
    """Whether a node with one step for each of its channels has as many as the bias."""
    grid = beside(case.candidate).get(node.inputs[1]) if len(node.inputs) > 1 else None
    return grid is None or len(grid.scale) in (1, bias.size)


def _raised(
    case: FaultContext, node: Node, place: int, source: str, bias: Array
) -> Iterator[Patch]:
    """A bias that is there, and lacks this: it may have been zeroed, or be another's part."""
    name = node.inputs[place]
    grid = beside(case.candidate).get(name)
    held = case.constant(case.candidate, name) if name in case.candidate.constants else None
    if held is None or held.size != bias.size or (grid is None and held.dtype.kind != "f"):
        return
    real = held if grid is None else reals(case, name, grid)
    if real is not None:
        value = real.astype(np.float64) + bias.reshape(held.shape)
        yield _set(case, [(name, value)], f"with {source} added")


def _known_biases(case: FaultContext) -> Iterator[tuple[str, Array]]:
    for name in node_constants.floats(case.reference, case.counterparts):
        value = case.constant(case.reference, name)
        if value is not None and value.ndim == 1 and np.any(value):
            yield f"the reference's {name!r}", value
    for source, value in folded(case):
        if value.ndim == 1:
            yield f"the reference's {source}", value


def _shown_bias(case: FaultContext) -> Iterator[tuple[str, Array]]:
    """What is missing is one number for each channel: then those numbers are the bias."""
    if case.right.shape != case.wrong.shape or not case.right.size:
        return
    gap = case.right.astype(np.float64) - case.wrong.astype(np.float64)
    for axis in range(gap.ndim):
        others = tuple(each for each in range(gap.ndim) if each != axis)
        bias = gap.mean(axis=others)
        lined_up = [bias.size if each == axis else 1 for each in range(gap.ndim)]
        if others and case.equals(case.wrong + bias.reshape(lined_up)):
            yield "what is missing in each channel", bias


def _connected(case: FaultContext, node: Node, place: int, bias: Array) -> tuple[Edit, ...]:
    """The edits that give a node this bias as its input at a place."""
    grids = beside(case.candidate)
    if node.inputs[0] in grids and node.inputs[1] in grids:
        return _connected_on_grid(case, node, place, bias)
    kind = dtype_of(case, node.inputs[1]) or np.dtype(np.float32)
    value = bias.astype(kind)
    for name, constant in case.candidate.constants.items():
        if constant.shape == value.shape and constant.dtype == kind.name:
            held = case.constant(case.candidate, name)
            if held is not None and np.array_equal(held.astype(kind), value):
                return (SetInput(node=node.name, index=place, tensor=name),)
    name = fresh(case, f"{node.outputs[0]}_bias")
    return (
        AddConstant(name=name, value=value),
        SetInput(node=node.name, index=place, tensor=name),
    )


def _connected_on_grid(case: FaultContext, node: Node, place: int, bias: Array) -> tuple[Edit, ...]:
    """A bias of whole numbers, which counts in products of the two scales it is added to."""
    grids = beside(case.candidate)
    data, weight = (np.asarray(grids[name].scale, np.float64) for name in node.inputs[:2])
    scale = (data * weight).astype(np.float32)
    name = fresh(case, f"{node.outputs[0]}_bias")
    whole = np.rint(bias / scale.astype(np.float64)).astype(np.int32)
    return (
        AddConstant(name=name, value=whole),
        SetQuantization(
            tensor=name,
            scale=tuple(scale.tolist()),
            zero_point=(0,) * scale.size,
            axis=0 if scale.size > 1 else None,
        ),
        SetInput(node=node.name, index=place, tensor=name),
    )


def _added(case: FaultContext, bias: Array, axis: int, source: str) -> Patch:
    kind = dtype_of(case, case.tensor) or np.dtype(np.float32)
    shape = [bias.size if each == axis else 1 for each in range(case.wrong.ndim)]
    name, node = fresh(case, f"{case.tensor}_bias"), fresh(case, f"{case.node.name}_bias_added")
    return Patch(
        summary=f"{source} added behind {case.tensor!r}",
        edits=(
            AddConstant(name=name, value=bias.reshape(shape).astype(kind)),
            InsertBehind(tensor=case.tensor, op="Add", name=node, inputs=("", name)),
        ),
    )
