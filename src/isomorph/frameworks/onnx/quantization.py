"""Which tensors are quantized, read off the operators that quantize them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.model import Node, Quantization, TensorSpec
from isomorph.frameworks.onnx.stored_tensors import dtype_name

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
    **dict.fromkeys(
        ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool",
         "QLinearGlobalAveragePool", "QLinearReduceMean"),
        ((0, 1, 2),),
    ),
    "DynamicQuantizeMatMul": ((1, 2, 3),),
    "MatMulIntegerToFloat": ((1, 3, 5),),
}  # fmt: skip
_OUTPUT: dict[str, tuple[int, int]] = {
    "QuantizeLinear": (1, 2),
    "QLinearConv": (6, 7),
    "QLinearMatMul": (6, 7),
    "QLinearAdd": (6, 7),
    "QLinearMul": (6, 7),
    "QGemm": (7, 8),
    **dict.fromkeys(
        ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool",
         "QLinearGlobalAveragePool", "QLinearReduceMean"),
        (3, 4),
    ),
    "QLinearConcat": (0, 1),
}  # fmt: skip
# Weights whose scale is multiplied in later: (weight, zero point, axis of the channels).
_INTEGER = {"MatMulInteger": (1, 3, -1), "ConvInteger": (1, 3, 0)}


def quantization_of(
    nodes: Sequence[Node], specs: Mapping[str, TensorSpec], read: Reader
) -> tuple[Quantization, ...]:
    """One entry per quantized tensor whose scale is a constant, its writer's before all.

    A reader that takes the integers for other numbers than their writer has a further entry.
    """
    found: dict[Quantization, None] = {}
    consumers = {name: node for node in nodes for name in node.inputs}
    makers = {name: node for node in nodes for name in node.outputs}
    for node in nodes:
        if node.op in _INTEGER and (late := _late_scale(node, consumers, makers, read)) is not None:
            found.setdefault(late)
        for tensor, scale, zero in _INPUTS.get(node.op, ()):
            if tensor < len(node.inputs):
                entry = _entry(node, node.inputs[tensor], (scale, zero), specs, read)
                if entry is not None:
                    found.setdefault(entry)
        if node.op in _OUTPUT:
            entry = _entry(node, node.outputs[0], _OUTPUT[node.op], specs, read)
            if entry is not None:
                found.setdefault(entry)
    return tuple(found)


def _late_scale(
    node: Node, consumers: Mapping[str, Node], makers: Mapping[str, Node], read: Reader
) -> Quantization | None:
    """The weight of an integer product: Cast and Mul by (input scale · weight scale) follow it."""
    place, zero_place, axis = _INTEGER[node.op]
    weight = read(node.inputs[place])
    cast = consumers.get(node.outputs[0])
    scaled = consumers.get(cast.outputs[0]) if cast is not None and cast.op == "Cast" else None
    if weight is None or cast is None or scaled is None or scaled.op != "Mul":
        return None
    factor = next((name for name in scaled.inputs if name != cast.outputs[0]), "")
    product = makers.get(factor)
    if product is None or product.op != "Mul":
        return None
    scales = [value for value in map(read, product.inputs) if value is not None]
    if len(scales) != 1:
        return None
    zero = _constant(node, zero_place, read)
    count = scales[0].size
    points = [0] if zero is None else [int(value) for value in zero.reshape(-1)]
    return Quantization(
        tensor=node.inputs[place],
        dtype=str(weight.dtype.name),
        scale=tuple(float(value) for value in scales[0].reshape(-1)),
        zero_point=tuple(points * count if len(points) == 1 else points),
        axis=axis % weight.ndim if count > 1 else None,
    )


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
    first = node.op == "QLinearConv" or bool(node.op == "QGemm" and node.attributes.get("transB"))
    axis = int(node.attributes.get("axis", 0 if first else 1))
    return axis + rank if axis < 0 and rank is not None else axis
