"""The scale under which stored integers come nearest to the reference's weight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import QUANTIZED_RESIDUE
from isomorph.diagnose import node_constants
from isomorph.diagnose.node_constants import stored_constant
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

# For each operator, where its stored integers, their scale and their zero point stand; -1 where the
# scale is no input of it.
STORED = {
    "DequantizeLinear": ((0, 1, 2),),
    "QLinearConv": ((3, 4, 5),),
    "QLinearMatMul": ((3, 4, 5),),
    "DynamicQuantizeMatMul": ((1, 2, 3),),
    "MatMulIntegerToFloat": ((1, 3, 5),),
    "MatMulInteger": ((1, -1, 3),),
    "ConvInteger": ((1, -1, 3),),
    "QGemm": ((3, 4, 5),),
    "DynamicQuantizeLSTM": ((1, 8, 9), (2, 10, 11)),
}


def fitted_scales(context: FaultContext, node: Node) -> Iterator[tuple[str, Array, str]]:
    """Scales by least squares: the constant's name, its values, and the reference's weight."""
    for places in STORED.get(node.op, ()):
        names = _read(node, places)
        whole, scale, zero = (stored_constant(context, name) for name in names)
        if whole is None or scale is None or not whole.size:
            continue
        for name in node_constants.floats(context.reference, context.counterparts):
            right = context.constant(context.reference, name)
            if right is None or right.size != whole.size:
                continue
            for moved in rearrangements(right, whole.shape):
                for axis in _axes(scale, whole):
                    value = fitted_scale(whole, zero, moved.array(right), axis)
                    if value is not None and value.size == scale.size:
                        yield names[1], value.reshape(scale.shape), name


def _read(node: Node, places: tuple[int, ...]) -> list[str]:
    return [node.input(place) if place >= 0 else "" for place in places]


def other_grid(context: FaultContext, right: Array) -> Iterator[tuple[str, Array]]:
    """A scale or a zero point under which the stored integers are the right real values.

    ``right`` are those of ``context.tensor``, in its arrangement. Where the integers themselves are
    wrong, neither gives them back.
    """
    stated = next((e for e in context.candidate.quantization if e.tensor == context.tensor), None)
    for node in context.nodes:
        for places in STORED.get(node.op, ()):
            names = _read(node, places)
            whole, scale, zero = (stored_constant(context, name) for name in names)
            if names[0] != context.tensor or whole is None or whole.shape != right.shape:
                continue
            if scale is not None:
                for axis in _axes(scale, whole):
                    value = fitted_scale(whole, zero, right, axis)
                    if value is not None and value.size == scale.size:
                        yield names[1], value.reshape(scale.shape)
            step = scale if scale is not None or stated is None else np.asarray(stated.scale)
            if zero is not None and zero.size == 1 and step is not None and step.size == 1:
                moved = _fitted_zero(whole, float(step.reshape(-1)[0]), right)
                if moved is not None and moved != int(zero.reshape(-1)[0]):
                    yield names[2], np.full(zero.shape, moved, np.float64)


def _fitted_zero(whole: Array, step: float, right: Array) -> int | None:
    """The zero point that gives the weight back with this scale; None where none does."""
    steps = whole.astype(np.float64)
    zero = round(float(np.median(steps - right / step)))
    residue, size = right - (steps - zero) * step, float(np.sqrt(np.mean(np.square(right))))
    within = float(np.sqrt(np.mean(np.square(residue)))) <= QUANTIZED_RESIDUE * size
    return zero if within else None


def _axes(scale: Array, whole: Array) -> list[int | None]:
    if scale.size == 1:
        return [None]
    return [axis for axis, size in enumerate(whole.shape) if size == scale.size]


def fitted_scale(whole: Array, zero: Array | None, right: Array, axis: int | None) -> Array | None:
    """The best scale along an axis; None where even the best does not give the weight back."""
    shape = [-1 if axis is not None and each == axis else 1 for each in range(whole.ndim)]
    steps = whole.astype(np.float64)
    if zero is not None:
        steps = steps - (zero.reshape(shape) if zero.size > 1 and axis is not None else
                         zero.reshape(-1)[0]).astype(np.float64)  # fmt: skip
    others = tuple(each for each in range(whole.ndim) if each != axis)
    power = np.sum(np.square(steps), axis=others)
    scale: Array = np.asarray(np.sum(steps * right, axis=others) / np.where(power > 0, power, 1.0))
    residue = right - steps * (scale.reshape(shape) if axis is not None else scale)
    size = float(np.sqrt(np.mean(np.square(right))))
    return (
        scale if float(np.sqrt(np.mean(np.square(residue)))) <= QUANTIZED_RESIDUE * size else None
    )
