"""On which CPUs the products of bytes in a quantized model are exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.cpu import CpuScope
from isomorph.core.errors import IsomorphError
from isomorph.diagnose.node_constants import names
from isomorph.measure.precision import quantized

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle

_SATURATING_RUNTIME = "onnxruntime"
_INTEGER_PRODUCTS = frozenset(
    {"MatMulInteger", "MatMulIntegerToFloat", "ConvInteger", "QLinearMatMul", "QLinearConv",
     "QGemm", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "QAttention"}
)  # fmt: skip
_PRODUCTS = _INTEGER_PRODUCTS | {"Conv", "ConvTranspose", "MatMul", "Gemm"}
"""The last ones are computed on integers where quantizers stand around them."""
_LARGEST_PAIR = np.iinfo(np.int16).max // 255
"""Two weights of one sign whose sum is no larger never saturate, whatever bytes they meet."""


def scope(result: ModelHandle) -> CpuScope | None:
    """Where this model's products of bytes are exact; None where it has none."""
    graph = result.model.graph
    if result.runtime != _SATURATING_RUNTIME or not _multiplies_bytes(graph):
        return None
    signed = [name for name in _stored(graph) if graph.constants[name].dtype == "int8"]
    bodies = [body for node in graph.nodes for body in node.bodies.values()]
    if any(_multiplies_bytes(body) for body in bodies):
        return CpuScope.UNKNOWN
    if not signed:
        return CpuScope.EVERY
    try:
        weights = result.oracle().run({}, signed)
    except IsomorphError:
        return CpuScope.UNKNOWN
    exact = all(never_saturates(np.asarray(weights[name])) for name in signed)
    return CpuScope.EVERY if exact else CpuScope.EXACT_SUMS


def never_saturates(weight: Array) -> bool:
    """Whether no two of these signed bytes can leave 16 bits with any two unsigned ones.

    Which two meet depends on the kernel, so the largest two of either sign are taken.
    """
    whole = np.sort(weight.astype(np.int64), axis=None)
    highest, lowest = np.maximum(whole[-2:], 0), np.minimum(whole[:2], 0)
    return int(highest.sum()) <= _LARGEST_PAIR and -int(lowest.sum()) <= _LARGEST_PAIR


def _multiplies_bytes(graph: Graph) -> bool:
    return quantized(graph) and any(node.op in _PRODUCTS for node in graph.nodes)


def _stored(graph: Graph) -> Iterator[str]:
    """The constants that products read, as they are or through a quantizer."""
    for name in names(graph, [node for node in graph.nodes if node.op in _PRODUCTS]):
        if math.prod(graph.constants[name].shape) > 1:
            yield name
