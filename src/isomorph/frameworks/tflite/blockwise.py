"""Weights with one scale for each block of neighbors, as a TFLite file keeps them.

The scales are a tensor of their own, which no operator reads. The blocks lie along the last axis,
that of the inputs of a product, and zero stands for zero: LiteRT knows no other form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.frameworks.tflite.op_options import dtype_of
from isomorph.frameworks.tflite.program import ABSENT, TfliteBlocks, raw_buffer
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_SCALES = frozenset({"float16", "float32"})


def not_understood(graph: Any, tensor: Any) -> str | None:  # noqa: ANN401
    """Why nobody here can give a value to a tensor of the schema; None where that is possible."""
    given = tensor.quantization
    if given is None or not given.detailsType:
        return None
    if given.detailsType != schema.QuantizationDetails.BlockwiseQuantization:
        return "it has a form of its own"
    details, count = given.details, len(graph.tensors)
    if _shape_of_blocks(details):
        return "its blocks span several axes"
    if not 0 <= int(details.scales) < count or int(details.blockSize) <= 0:
        return "its scales are no tensor of the file, or its blocks are empty"
    # The schema's default is zero, so the first tensor cannot be meant.
    if int(details.zeroPoints) not in (ABSENT, 0):
        return "its blocks have zero points, which LiteRT does not read"
    scales = graph.tensors[int(details.scales)]
    if dtype_of(int(scales.type)) not in _SCALES:
        return f"its scales are {dtype_of(int(scales.type))}"
    return None


def _shape_of_blocks(details: Any) -> bool:  # noqa: ANN401
    # Schemas of earlier releases have no such field.
    shape = getattr(details, "blockShape", None)
    return shape is not None and len(shape) > 0


def blocks_of(
    model: Any,  # noqa: ANN401
    data: Any,  # noqa: ANN401
    graph: Any,  # noqa: ANN401
    shape: tuple[int, ...],
    given: Any,  # noqa: ANN401
) -> TfliteBlocks | None:
    """The blocks of a tensor of this shape; None where it has none."""
    if given is None or given.detailsType != schema.QuantizationDetails.BlockwiseQuantization:
        return None
    size, place = int(given.details.blockSize), int(given.details.scales)
    stored = graph.tensors[place]
    kind = numpy_dtype(dtype_of(int(stored.type)))
    values: Array = np.frombuffer(raw_buffer(model, data, stored.buffer), kind)
    counts = (*shape[:-1], -(-shape[-1] // size))
    if values.size != math.prod(counts):
        raise ValueError(f"{values.size} scales for {math.prod(counts)} blocks")
    return TfliteBlocks(size=size, tensor=place, scales=values.reshape(counts))
