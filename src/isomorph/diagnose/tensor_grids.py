"""The quantization grids of tensors around a fault: their steps and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant
from isomorph.core.stated_numbers import GRID_REACH, MUCH_LESS_LOSS
from isomorph.diagnose import node_constants
from isomorph.diagnose.constant_diff import difference, lesser_part
from isomorph.diagnose.folded_constants import folded
from isomorph.diagnose.requantize import requantized
from isomorph.match.dequantized_graph import implicit_grids
from isomorph.match.value_match import weight_arrangements
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node, Quantization
    from isomorph.core.trace import Array

_READING = "DequantizeLinear"
_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "FullyConnected"})


def readers(context: FaultContext) -> list[Node]:
    """The nodes that dequantize a stored weight for the faulty ones.

    What merely widens float16 has no grid.
    """
    fed = {name for node in context.nodes for name in node.inputs}
    return [
        node
        for node in context.candidate.nodes
        if node.op == _READING
        and len(node.inputs) > 1
        and node.outputs[0] in fed
        and node.inputs[0] in context.candidate.constants
    ]


def step(context: FaultContext) -> float | None:
    """The step of the grid on which the wrong tensor's values stand, the widest if it has many."""
    near = {context.tensor, *(n for node in context.nodes for n in (*node.outputs, *node.inputs))}
    found = [each for each in context.candidate.quantization if each.tensor in near and each.scale]
    exact = [each for each in found if each.tensor == context.tensor]
    live = [each for each in found if each.tensor not in context.candidate.constants]
    chosen = exact or live
    return max(max(each.scale) for each in chosen) if chosen else None


def bias_scale(context: FaultContext) -> str | None:
    """A bias whose scale is not that of the products it is added to, in words."""
    by_tensor: dict[str, Quantization] = {}
    for each in context.candidate.quantization:
        by_tensor.setdefault(each.tensor, each)
    readers = {node.outputs[0]: node for node in context.candidate.nodes if node.op == _READING}

    def grid(name: str) -> Quantization | None:
        reader = readers.get(name)
        return by_tensor.get(reader.inputs[0] if reader is not None else name)

    for node in context.nodes:
        if node.op not in _LINEAR or len(node.inputs) < 3:
            continue
        data, weight, bias = (grid(name) for name in node.inputs[:3])
        if data is None or weight is None or bias is None or not data.scale or not bias.scale:
            continue
        product = np.asarray(data.scale[0]) * np.asarray(weight.scale)
        ratio = np.asarray(bias.scale) / product
        # The product is rounded to float32 once more.
        off = np.abs(ratio - 1.0) > 4.0 * float(np.finfo(np.float32).eps)
        if np.any(off):
            factor = float(ratio.reshape(-1)[int(np.argmax(off))])
            return message("quantization.bias_scale", node=node.name, factor=factor)
    return None


def misread_weight(context: FaultContext) -> tuple[str, str, str] | None:
    """A stored weight whose real values are not the reference's: name, what it is, and its cause.

    None unless the reference's weight in its place restores the node, or is a multiple of it.
    """
    for stored, made, scales, axis in stored_weights(context):
        wrong = context.value(context.candidate, made)
        if wrong is None:
            continue
        steps = _along(scales, axis, wrong.ndim)
        choices = [
            placed
            for right in _weights(context)
            if right.size == wrong.size and right.ndim >= min(wrong.ndim, 2)
            for placed in weight_arrangements(right, wrong.shape)
        ]
        off = [bool(np.any(np.abs(wrong - placed) > GRID_REACH * steps)) for placed in choices]
        for placed in (each for each, wrong in zip(choices, off, strict=True) if wrong):
            # An earlier loss can hide that it restores the node; that every number is the right one
            # times one factor is no accident, unless the factor was worked in.
            larger = all(off) and _multiple(wrong, placed, steps) is not None
            if (
                larger
                or context.restores({made: placed})
                or _much_nearer(context, stored, made, placed)
            ):
                return stored, *_grid_change(wrong, placed, steps)
    # Integers that an operator multiplies as they are have no tensor of real numbers.
    for each in requantized(context):
        if context.restores({each.name: each.read}):
            return each.name, *_grid_change(each.cand_values, each.right, each.steps)
    return None


def _much_nearer(context: FaultContext, stored: str, made: str, placed: Array) -> bool:
    """Whether a constant put onto its grid removes most of the error; earlier loss remains."""
    if stored != made:
        return False
    edit = SetConstant(tensor=stored, value=placed)
    found = context.rehearse(Patch(summary="", edits=(edit,)))
    if found is None or found.shape != context.right.shape:
        return False
    return (
        MUCH_LESS_LOSS * rms_and_peak(context.right, found)[0]
        <= rms_and_peak(context.right, context.wrong)[0]
    )


def stored_weights(context: FaultContext) -> list[tuple[str, str, Array, int | None]]:
    """Stored integers, the tensor of their real values, and the steps of their grid by axis."""
    return [*_read_by_nodes(context), *_read_beside(context)]


def _read_by_nodes(context: FaultContext) -> Iterator[tuple[str, str, Array, int | None]]:
    for node in readers(context):
        scale = context.constant(context.candidate, node.inputs[1])
        if scale is not None:
            yield node.inputs[0], node.outputs[0], scale, int(node.attributes.get("axis", 1))


def _read_beside(context: FaultContext) -> Iterator[tuple[str, str, Array, int | None]]:
    """Where the grid stands beside a constant, it is seen in real numbers itself."""
    fed = {name for node in context.nodes for name in node.inputs}
    for name, grid in implicit_grids(context.candidate).items():
        if name in fed and name in context.candidate.constants:
            yield name, name, np.asarray(grid.scale), grid.axis


def _along(scales: Array, axis: int | None, rank: int) -> Array:
    """One step for each slice of the axis, or the widest for all where they lie otherwise."""
    if scales.ndim != 1 or axis is None or not -rank <= axis < rank:
        return np.asarray(np.max(scales))
    return scales.reshape([-1 if each == axis % rank else 1 for each in range(rank)])


def _weights(context: FaultContext) -> Iterator[Array]:
    """The reference's weights in real numbers, stored as such or read through a grid."""
    names = node_constants.floats(context.reference, context.counterparts)
    fed = {name for node in context.counterparts for name in node.inputs}
    names += [
        n.outputs[0] for n in context.reference.nodes if n.op == _READING and n.outputs[0] in fed
    ]
    for name in names:
        value = context.value(context.reference, name)
        if value is not None and value.dtype.kind == "f":
            yield value
    yield from (value for _, value in folded(context))


def _multiple(wrong: Array, right: Array, steps: Array) -> float | None:
    """The one factor between all numbers, up to what quantizing them costs."""
    factor = float(np.vdot(wrong, right)) / (float(np.vdot(right, right)) or 1.0)
    near = np.all(np.abs(wrong - factor * right) <= GRID_REACH * steps)
    return factor if factor > 0 and near else None


def _channels_rescaled(wrong: Array, right: Array, steps: Array) -> int:
    """In how many channels all numbers are the right ones times one factor; 0 if in some not."""
    others = tuple(axis for axis, size in enumerate(steps.shape) if size == 1)
    if steps.size == 1 or steps.ndim != wrong.ndim:
        return 0
    power = np.sum(np.square(right), axis=others, keepdims=True)
    factor = np.sum(wrong * right, axis=others, keepdims=True) / np.where(power > 0, power, 1.0)
    if np.any(factor <= 0) or np.any(np.abs(wrong - factor * right) > GRID_REACH * steps):
        return 0
    off = np.abs((factor - 1.0) * right) > GRID_REACH * steps
    return int(np.count_nonzero(np.any(off, axis=others)))


def _grid_change(wrong: Array, right: Array, steps: Array) -> tuple[str, str]:
    """What happened to the integers, up to the half step that quantizing them costs."""
    gaps = (wrong - right) / steps
    turned = 256.0 * np.rint(gaps / 256.0)
    if np.any(turned) and np.all(np.abs(gaps - turned) <= GRID_REACH):
        return message("difference.signedness"), "quantization"
    factor = _multiple(wrong, right, steps)
    if factor is not None:
        return message("difference.grid_scale", factor=factor), "quantization"
    rescaled = _channels_rescaled(wrong, right, steps)
    if rescaled:
        return message("difference.channel_scales", count=rescaled, size=steps.size), "quantization"
    shift = float(np.median(gaps))
    if np.all(np.abs(gaps - shift) <= GRID_REACH):
        return message("difference.grid_shift", steps=shift), "quantization"
    astray = int(np.count_nonzero(np.abs(gaps) > GRID_REACH))
    if lesser_part(astray, wrong.size):
        return message("difference.steps", count=astray, size=wrong.size), "weight"
    change = difference(wrong, right)
    return change.text if change.reordered else message("difference.others"), "weight"
