"""Which tensors are quantised, read off the operators that quantise them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.model import Node, Quantization, TensorSpec
from isomorph.native.onnx_tensors import dtype_name

if TYPE_CHECKING:
    from isomorph.core.trace import Array

Reader = Callable[[str], "Array | None"]

# For each operator: (tensor, scale, zero point) by position among the inputs, and the
# (scale, zero point) of its first output.
_INPUTS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "DequantizeLinear": ((0, 1, 2),),
    "QLinearConv": ((0, 1, 2), (3, 4, 5)),
    "QLinearMatMul": ((0, 1, 2), (3, 4, 5)),
    "QLinearAdd": ((0, 1, 2), (3, 4, 5)),
    "QLinearMul": ((0, 1, 2), (3, 4, 5)),
    "QGemm": ((0, 1, 2), (3, 4, 5)),
}
_OUTPUT: dict[str, tuple[int, int]] = {
    "QuantizeLinear": (1, 2),
    "QLinearConv": (6, 7),
    "QLinearMatMul": (6, 7),
    "QLinearAdd": (6, 7),
    "QLinearMul": (6, 7),
    "QGemm": (7, 8),
}


def quantization_of(
    nodes: Sequence[Node], specs: Mapping[str, TensorSpec], read: Reader
) -> tuple[Quantization, ...]:
    """One entry per quantised tensor whose scale is a constant."""
    found: dict[str, Quantization] = {}
    for node in nodes:
        for tensor, scale, zero in _INPUTS.get(node.op, ()):
            if tensor < len(node.inputs):
                entry = _entry(node, node.inputs[tensor], (scale, zero), specs, read)
                if entry is not None:
                    found.setdefault(entry.tensor, entry)
        if node.op in _OUTPUT:
            entry = _entry(node, node.outputs[0], _OUTPUT[node.op], specs, read)
            if entry is not None:
                found.setdefault(entry.tensor, entry)
    return tuple(found.values())


def _entry(
    node: Node,
    tensor: str,
    places: tuple[int, int],
    specs: Mapping[str, TensorSpec],
    read: Reader,
) -> Quantization | None:
    scale = _constant(node, places[0], read)
    if not tensor or scale is None:
        return None
    zero = _constant(node, places[1], read)
    spec = specs.get(tensor)
    rank = len(spec.shape) if spec is not None and spec.shape is not None else None
    return Quantization(
        tensor=tensor,
        dtype=_dtype(node, spec, zero),
        scale=tuple(float(value) for value in scale.reshape(-1)),
        zero_point=(0,) * scale.size
        if zero is None
        else tuple(int(value) for value in zero.reshape(-1)),
        axis=_axis(node, scale, rank),
    )


def _constant(node: Node, position: int, read: Reader) -> Array | None:
    if position >= len(node.inputs) or not node.inputs[position]:
        return None
    return read(node.inputs[position])


def _dtype(node: Node, spec: TensorSpec | None, zero: Array | None) -> str:
    if zero is not None:
        return str(zero.dtype.name)
    if spec is not None and spec.dtype is not None:
        return spec.dtype
    asked: Any = node.attributes.get("output_dtype", 0)
    # QuantizeLinear without a zero point and without a type gives uint8.
    return dtype_name(int(asked)) or np.dtype(np.uint8).name


def _axis(node: Node, scale: Array, rank: int | None) -> int | None:
    if scale.size == 1:
        return None
    axis = int(node.attributes.get("axis", 0 if node.op == "QLinearConv" else 1))
    return axis + rank if axis < 0 and rank is not None else axis
