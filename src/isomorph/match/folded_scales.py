"""Kernels with the channel factors of the following nodes multiplied in.

A batch normalization after a convolution multiplies each channel by one number, and converters
multiply the kernel by it before they quantize it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import SCALE_STEPS

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array

Read = Callable[[str], "Array | None"]

_BETWEEN = frozenset({"Add", "Transpose", "Reshape", "Identity"})


def folded_kernels(size: int, graph: Graph, read: Read) -> Iterator[Array]:
    """Yield every kernel of ``size`` elements with the factors after it multiplied in.

    ``read`` returns constants, and whatever is computed from constants alone.
    """
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    for node in graph.nodes:
        stored = [graph.constants[name] for name in node.inputs if name in graph.constants]
        fits = [each for each in stored if int(np.prod(each.shape)) == size > 1]
        kernels = [each for each in fits if len(each.shape) > 1 and "float" in each.dtype]
        if not kernels or not node.outputs:
            continue
        factor = _factor(node.outputs[0], readers, read, SCALE_STEPS.most)
        value = None if factor is None else read(kernels[0].name)
        if factor is None or value is None:
            continue
        for axis, count in enumerate(value.shape):
            if count == factor.size:
                along = factor.reshape([-1 if k == axis else 1 for k in range(value.ndim)])
                yield np.asarray(value, np.float64) * along


def _factor(tensor: str, readers: dict[str, list[Node]], read: Read, farthest: int) -> Array | None:
    """Return what a tensor is multiplied by next, one factor for each channel."""
    if not farthest:
        SCALE_STEPS.reached()
        return None
    if len(readers.get(tensor, ())) != 1:
        return None  # a product that is read twice cannot be folded for one reader alone
    (node,) = readers[tensor]
    if node.op == "BatchNormalization" and len(node.inputs) >= 5:
        scale, variance = read(node.inputs[1]), read(node.inputs[4])
        if scale is None or variance is None:
            return None
        epsilon = float(node.attributes.get("epsilon", node.attributes.get("eps", 0.0)))
        return _vector(np.asarray(scale) / np.sqrt(np.asarray(variance, np.float64) + epsilon))
    if node.op == "Mul" and len(node.inputs) == 2:
        (other,) = [name for name in node.inputs if name != tensor] or [tensor]
        value = read(other) if other != tensor else None
        return None if value is None else _vector(np.asarray(value, np.float64))
    if node.op in _BETWEEN and node.outputs:
        return _factor(node.outputs[0], readers, read, farthest - 1)
    return None


def _vector(value: Array) -> Array | None:
    """Return one number for each channel, without axes of size one."""
    return np.ravel(value) if value.size == max(value.shape, default=0) and value.size > 1 else None
