"""The stored value that the reference has, in the arrangement that the candidate wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import (
    AddConstant,
    Edit,
    InsertBehind,
    Patch,
    SetConstant,
    SetInput,
    SetQuantization,
)
from isomorph.core.repair_limits import MATCHED_CHANNELS
from isomorph.core.report import Fact
from isomorph.diagnose import node_constants
from isomorph.diagnose.folded_constants import folded
from isomorph.diagnose.parameters import constant_edits, dtype_of, unused_name
from isomorph.diagnose.recurrent_weights import recurrent
from isomorph.diagnose.requantize import requantized
from isomorph.diagnose.subgraph_weights import inside_bodies
from isomorph.fixes._grids import reals, stored_on_grids
from isomorph.fixes._neighbors import neighbors
from isomorph.fixes._weight_scales import other_grid
from isomorph.localize.weight_findings import CODE
from isomorph.match.dequantized_graph import implicit_grids
from isomorph.match.value_match import rearrangements, weight_arrangements
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding
    from isomorph.core.trace import Array

_BIAS_INPUT = {"Conv": 2, "ConvTranspose": 2, "Gemm": 2, "FusedConv": 2, "LayerNormalization": 2}


class Weight:
    """Give a constant the reference's values, reorder gate blocks, or add a bias that is gone."""

    name = "weight"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """The constant that the evidence names first; then the others; then reordering."""
        if finding.code == CODE:
            yield from _on_another_grid(context)
            yield _set(
                context,
                [(context.tensor, context.right)],
                message("PATCH.where_different"),
            )
            return
        named = finding.fact(Fact.CONSTANT)
        names = [
            *node_constants.floats(context.candidate, context.nodes),
            *stored_on_grids(context),
            *node_constants.masks(context.candidate, context.nodes),
        ]
        names.sort(key=lambda name: name != named)
        for name in names:
            yield from _replaced(context, name)
        yield from _of_another_node(context)
        yield from _folded(context, names)
        for each in requantized(context):
            words = message("PATCH.quantized_again", right=each.source)
            yield _set(context, [(each.name, each.integers)], words)
        yield from inside_bodies(context)
        yield from _channels(context, names)
        yield from _biases(context)
        for values, words in recurrent(context):
            yield _set(context, values, words)


def _on_another_grid(context: FaultContext) -> Iterator[Patch]:
    """A wrong scale or zero point, under which the stored integers are right, set right itself."""
    right = context.value(context.candidate, context.tensor)
    for name, value in other_grid(context, right) if right is not None else ():
        yield Patch(
            summary=message("PATCH.grid_of_integers", name=name, weight=context.tensor),
            edits=(SetConstant(tensor=name, value=value),),
        )


def _set(context: FaultContext, values: Sequence[tuple[str, Array]], source: str) -> Patch:
    edits: tuple[Edit, ...] = ()
    for name, value in values:
        edits += constant_edits(context, name, value)
    names = ", ".join(repr(name) for name, _ in values)
    return Patch(summary=message("PATCH.constant", names=names, values=source), edits=edits)


def _constant(context: FaultContext, name: str) -> Array | None:
    """The real numbers that a constant of the candidate holds or stands for."""
    grid = stored_on_grids(context).get(name)
    return context.constant(context.candidate, name) if grid is None else reals(context, name, grid)


def _replaced(context: FaultContext, cand: str) -> Iterator[Patch]:
    """The counterpart's constants of the same size, in every arrangement that fits."""
    wrong = _constant(context, cand)
    if wrong is None:
        return
    for ref, right in node_constants.constants_of_equal_size(context, cand):
        for value in weight_arrangements(right, wrong.shape):
            if not np.array_equal(value, wrong):
                yield _set(context, [(cand, value)], message("PATCH.values", right=repr(ref)))


def _of_another_node(context: FaultContext) -> Iterator[Patch]:
    """The reference's constant where another is read: of another size, or twice by one node."""
    for node in context.nodes:
        for counterpart in context.counterparts:
            # Either node may leave optional inputs out.
            places = zip(node.inputs, counterpart.inputs, strict=False)
            for place, (here, there) in enumerate(places if counterpart.op == node.op else ()):
                current, right = (
                    context.candidate.constants.get(here),
                    context.reference.constants.get(there),
                )
                if current is None or right is None or current.digest == right.digest:
                    continue
                value = context.constant(context.reference, there)
                other = current.shape != right.shape or node.inputs.count(here) > 1
                if value is None or not other or current.dtype != right.dtype:
                    continue
                own = unused_name(context, f"{node.outputs[0]}_input_{place}")
                yield Patch(
                    summary=message(
                        "PATCH.give_input", place=place, op=node.op, node=node.name, right=there
                    ),
                    edits=(
                        AddConstant(name=own, value=value.astype(right.dtype)),
                        SetInput(node=node.name, index=place, tensor=own),
                    ),
                )


def _folded(context: FaultContext, names: Sequence[str]) -> Iterator[Patch]:
    """The counterpart's weights with its normalization worked in, one by one and together."""
    found: list[tuple[str, Array, str]] = []
    for source, right in folded(context):
        for name in names:
            wrong = _constant(context, name)
            if wrong is None or wrong.size != right.size:
                continue
            for moved in rearrangements(right, wrong.shape):
                value = moved.array(right)
                found.append((name, value, source))
                yield _set(context, [(name, value)], message("PATCH.values", right=source))
    for one, other in combinations(found, 2):
        if one[0] != other[0]:
            yield _set(context, [one[:2], other[:2]], message("PATCH.values", right=one[2]))


def _channels(context: FaultContext, names: Sequence[str]) -> Iterator[Patch]:
    """The rows of the weights in the order in which the right channels stand."""
    if context.right.ndim < 2 or context.right.shape != context.wrong.shape:
        return
    for axis in range(1, context.right.ndim):
        order = _matched(context.wrong, context.right, axis)
        if order is None or not context.equals(np.take(context.wrong, order, axis)):
            continue
        moved = []
        for name in names:
            value = context.constant(context.candidate, name)
            for place in range(value.ndim) if value is not None else ():
                if value is not None and value.shape[place] == len(order):
                    moved.append((name, np.take(value, order, place)))
                    yield _set(context, [moved[-1]], message("PATCH.channels"))
                    break
        if len(moved) > 1:
            yield _set(context, moved, message("PATCH.constants_channels"))


def _matched(wrong: Array, right: Array, axis: int) -> list[int] | None:
    """For each right channel the wrong one nearest to it; None unless each is used once."""
    left = np.moveaxis(wrong.astype(np.float64), axis, 0).reshape(wrong.shape[axis], -1)
    there = np.moveaxis(right.astype(np.float64), axis, 0).reshape(right.shape[axis], -1)
    if left.shape[0] > MATCHED_CHANNELS.most:
        MATCHED_CHANNELS.reached()
        return None
    if not np.isfinite(left).all() or not np.isfinite(there).all():
        return None
    order = [int(np.argmin(np.mean(np.square(left - row), axis=1))) for row in there]
    return order if sorted(order) == list(range(len(order))) != order else None


def _biases(context: FaultContext) -> Iterator[Patch]:
    """A bias of the reference, or the one that the difference itself shows, added again."""
    slots = [node for node in neighbors(context, depth=1) if node.op in _BIAS_INPUT]
    linear = operator_tables(context.candidate.framework).linear_inputs
    for source, bias in (*_known_biases(context), *_shown_bias(context)):
        for node in slots:
            own = linear.get(node.native_op)
            place = _BIAS_INPUT[node.op] if own is None else own[2]
            if place < len(node.inputs) and node.inputs[place]:
                yield from _raised(context, node, place, source, bias)
                continue
            if _fits(context, node, bias):
                yield Patch(
                    summary=message("PATCH.connect_bias", bias=source, op=node.op, node=node.name),
                    edits=_connected(context, node, place, bias),
                )
        for axis in range(context.wrong.ndim):
            if context.wrong.shape[axis] == bias.size:
                yield _added(context, bias, axis, source)


def _fits(context: FaultContext, node: Node, bias: Array) -> bool:
    """Whether a node with one step for each of its channels has as many as the bias."""
    grid = implicit_grids(context.candidate).get(node.inputs[1]) if len(node.inputs) > 1 else None
    return grid is None or len(grid.scale) in (1, bias.size)


def _raised(
    context: FaultContext, node: Node, place: int, source: str, bias: Array
) -> Iterator[Patch]:
    """A bias that is there, and lacks this: it may have been zeroed, or be another's part."""
    name = node.inputs[place]
    grid = implicit_grids(context.candidate).get(name)
    value_now = (
        context.constant(context.candidate, name) if name in context.candidate.constants else None
    )
    if (
        value_now is None
        or value_now.size != bias.size
        or (grid is None and value_now.dtype.kind != "f")
    ):
        return
    real = value_now if grid is None else reals(context, name, grid)
    if real is not None:
        value = real.astype(np.float64) + bias.reshape(value_now.shape)
        yield _set(context, [(name, value)], message("PATCH.plus", bias=source))


def _known_biases(context: FaultContext) -> Iterator[tuple[str, Array]]:
    for name in node_constants.floats(context.reference, context.counterparts):
        value = context.constant(context.reference, name)
        if value is not None and value.ndim == 1 and np.any(value):
            yield message("PATCH.reference_bias", bias=repr(name)), value
    for source, value in folded(context):
        if value.ndim == 1:
            yield message("PATCH.reference_bias", bias=source), value


def _shown_bias(context: FaultContext) -> Iterator[tuple[str, Array]]:
    """What is missing is one number for each channel: then those numbers are the bias.

    Behind a branch or a loop they would be right for the branch that was taken, and for no other.
    """
    if any(node.bodies for node in context.nodes):
        return
    if context.right.shape != context.wrong.shape or not context.right.size:
        return
    gap = context.right.astype(np.float64) - context.wrong.astype(np.float64)
    for axis in range(gap.ndim):
        others = tuple(each for each in range(gap.ndim) if each != axis)
        bias = gap.mean(axis=others)
        lined_up = [bias.size if each == axis else 1 for each in range(gap.ndim)]
        if others and context.equals(context.wrong + bias.reshape(lined_up)):
            yield message("PATCH.shown_bias"), bias


def _connected(context: FaultContext, node: Node, place: int, bias: Array) -> tuple[Edit, ...]:
    """The edits that give a node this bias as its input at a place."""
    grids = implicit_grids(context.candidate)
    if node.inputs[0] in grids and node.inputs[1] in grids:
        return _connected_on_grid(context, node, place, bias)
    kind = dtype_of(context, node.inputs[1]) or np.dtype(np.float32)
    value = bias.astype(kind)
    for name, constant in context.candidate.constants.items():
        if constant.shape == value.shape and constant.dtype == kind.name:
            value_now = context.constant(context.candidate, name)
            if value_now is not None and np.array_equal(value_now.astype(kind), value):
                return (SetInput(node=node.name, index=place, tensor=name),)
    name = unused_name(context, f"{node.outputs[0]}_bias")
    return (
        AddConstant(name=name, value=value),
        SetInput(node=node.name, index=place, tensor=name),
    )


def _connected_on_grid(
    context: FaultContext, node: Node, place: int, bias: Array
) -> tuple[Edit, ...]:
    """A bias of whole numbers, which counts in products of the two scales it is added to."""
    grids = implicit_grids(context.candidate)
    data, weight = (np.asarray(grids[name].scale, np.float64) for name in node.inputs[:2])
    scale = (data * weight).astype(np.float32)
    name = unused_name(context, f"{node.outputs[0]}_bias")
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


def _added(context: FaultContext, bias: Array, axis: int, source: str) -> Patch:
    kind = dtype_of(context, context.tensor) or np.dtype(np.float32)
    shape = [bias.size if each == axis else 1 for each in range(context.wrong.ndim)]
    name, node = (
        unused_name(context, f"{context.tensor}_bias"),
        unused_name(context, f"{context.node.name}_bias_added"),
    )
    return Patch(
        summary=message("PATCH.add_bias", bias=source, tensor=context.tensor),
        edits=(
            AddConstant(name=name, value=bias.reshape(shape).astype(kind)),
            InsertBehind(tensor=context.tensor, op="Add", name=node, inputs=("", name)),
        ),
    )
