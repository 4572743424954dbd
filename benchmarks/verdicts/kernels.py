"""One node of a graph, evaluated in whatever precision its inputs have.

``onnx.reference`` computes most operators. Those it gets wrong, computes in float32 only or
computes slowly are written down here in NumPy. Nothing of isomorph is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

Array = np.ndarray
_ERF = np.vectorize(math.erf, otypes=[np.float64])


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


class Kernel:
    """A node, ready to be evaluated many times."""

    def __init__(self, node: onnx.NodeProto, opset: int) -> None:
        self.op = node.op_type
        self._names = list(node.input)
        self._attributes = attributes(node)
        self._own = _OWN.get(node.op_type)
        if self._own is None:
            self._evaluator = _single(node, opset)

    def __call__(self, inputs: Sequence[Array | None]) -> list[Array]:
        if self._own is not None:
            return self._own(inputs, self._attributes)
        feeds = {n: v for n, v in zip(self._names, inputs, strict=True) if n}
        return [np.asarray(value) for value in self._evaluator.run(None, feeds)]


def _single(node: onnx.NodeProto, opset: int) -> ReferenceEvaluator:
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    named = [helper.make_value_info(name, kind) for name in dict.fromkeys(filter(None, node.input))]
    given = [helper.make_value_info(name, kind) for name in node.output if name]
    graph = helper.make_graph([node], "one", named, given)
    return ReferenceEvaluator(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    )


def _erf(inputs: Sequence[Array], _: Mapping[str, Any]) -> list[Array]:
    return [_ERF(inputs[0]).astype(inputs[0].dtype)]


def _gelu(inputs: Sequence[Array], stated: Mapping[str, Any]) -> list[Array]:
    x = inputs[0].astype(np.float64)
    if stated.get("approximate", b"none") == b"tanh":
        inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    else:
        inner = _ERF(x / math.sqrt(2))
    return [(0.5 * x * (1 + inner)).astype(inputs[0].dtype)]


def _hard_swish(inputs: Sequence[Array], _: Mapping[str, Any]) -> list[Array]:
    x = inputs[0]
    return [(x * np.clip(x / 6 + 0.5, 0, 1)).astype(x.dtype)]


def _group_normalization(inputs: Sequence[Array], stated: Mapping[str, Any]) -> list[Array]:
    x, scale, bias = inputs
    groups = stated["num_groups"]
    parts = x.reshape(x.shape[0], groups, -1).astype(np.float64)
    mean, variance = parts.mean(axis=2, keepdims=True), parts.var(axis=2, keepdims=True)
    normal = (parts - mean) / np.sqrt(variance + stated.get("epsilon", 1e-5))
    if scale.size == groups:  # up to opset 20 one factor for each group, then one for each channel
        normal = normal * scale.reshape(1, -1, 1) + bias.reshape(1, -1, 1)
        return [normal.reshape(x.shape).astype(x.dtype)]
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return [(normal.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype)]


def _windows(x: Array, stated: Mapping[str, Any], fill: float) -> tuple[Array, Array, list[int]]:
    """Every window of a pool as one axis (filled at the border), and how much of it is inside."""
    kernel = list(stated["kernel_shape"])
    rank = len(kernel)
    strides = list(stated.get("strides", [1] * rank))
    pads = list(stated.get("pads", [0] * 2 * rank))
    steps = list(stated.get("dilations", [1] * rank))
    sizes = [
        (x.shape[2 + i] + pads[i] + pads[i + rank] - steps[i] * (kernel[i] - 1) - 1) // strides[i]
        + 1
        for i in range(rank)
    ]
    border = [(0, 0), (0, 0), *((pads[i], pads[i + rank]) for i in range(rank))]
    padded = np.pad(x, border, constant_values=fill)
    inside = np.pad(np.ones_like(x), border)
    taken, counted = [], []
    for offset in product(*map(range, kernel)):
        place = tuple(
            slice(o * steps[i], o * steps[i] + strides[i] * (sizes[i] - 1) + 1, strides[i])
            for i, o in enumerate(offset)
        )
        taken.append(padded[(slice(None), slice(None), *place)])
        counted.append(inside[(slice(None), slice(None), *place)])
    return np.stack(taken), np.stack(counted), sizes


def _max_pool(inputs: Sequence[Array], stated: Mapping[str, Any]) -> list[Array]:
    taken, _, _ = _windows(inputs[0], stated, -np.inf)
    return [taken.max(axis=0)]


def _average_pool(inputs: Sequence[Array], stated: Mapping[str, Any]) -> list[Array]:
    taken, inside, _ = _windows(inputs[0], stated, 0)
    whole = stated.get("count_include_pad", 0)
    count = taken.shape[0] if whole else inside.sum(axis=0)
    return [(taken.sum(axis=0) / count).astype(inputs[0].dtype)]


_OWN: Mapping[str, Callable[[Sequence[Array], Mapping[str, Any]], list[Array]]] = {
    "Erf": _erf,
    "Gelu": _gelu,
    "HardSwish": _hard_swish,
    "GroupNormalization": _group_normalization,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
}
