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

# For each operator, where its stored integers, their scale and their zero point stand.
STORED = {
    "DequantizeLinear": ((0, 1, 2),),
    "QLinearConv": ((3, 4, 5),),
    "QLinearMatMul": ((3, 4, 5),),
    "DynamicQuantizeMatMul": ((1, 2, 3),),
    "MatMulIntegerToFloat": ((1, 3, 5),),
    "DynamicQuantizeLSTM": ((1, 8, 9), (2, 10, 11)),
}


def fitted_scales(context: FaultContext, node: Node) -> Iterator[tuple[str, Array, str]]:
    """Scales by least squares: the constant's name, its values, and the reference's weight."""
    for places in STORED.get(node.op, ()):
        names = [node.input(place) for place in places]
        arrays = [stored_constant(context, name) for name in names]
        whole, scale, zero = arrays
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
