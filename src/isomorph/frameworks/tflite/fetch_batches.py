"""Fetching more than memory holds: in pieces, each computed from the pieces before it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core import batching
from isomorph.frameworks.tflite.buffers import HANDLES
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.tflite.cut import Cutter
    from isomorph.frameworks.tflite.program import TfliteTensor


def batches(
    cutter: Cutter, fetch: Sequence[int], given: Mapping[int, Array], budget: int
) -> list[list[int]]:
    """``fetch`` in the order of computation, split where ``budget`` bytes are used up.

    A single tensor above the budget is a batch of its own: it cannot be split.
    """
    # Declared sizes are those of one sample; the feeds have the number of samples.
    scale = max((array.shape[0] for array in given.values() if array.ndim), default=1)
    ordered = sorted(fetch, key=lambda each: (cutter.position(each), each))
    tensors = cutter.graph.tensors
    return batching.batches(ordered, lambda each: _estimate(tensors[each], scale), budget)


def _estimate(tensor: TfliteTensor, scale: int) -> int:
    if tensor.dtype in HANDLES or tensor.dtype == "string":
        return 0
    dynamic = tensor.signature is None or -1 in tensor.signature
    size = math.prod(max(each, 1) for each in tensor.shape)
    return size * numpy_dtype(tensor.dtype).itemsize * (scale if dynamic else 1)
