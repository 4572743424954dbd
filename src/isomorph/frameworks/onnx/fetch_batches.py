"""Fetching more than memory holds: in pieces, each computed from the pieces before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core import batching
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Arrays
    from isomorph.frameworks.onnx.cut import Cutter


def estimated_bytes(spec: TensorSpec | None, sizes: Mapping[str, int], unknown: int) -> int:
    """How much a tensor will take, with named axes bound and unknown ones guessed high."""
    if spec is None or spec.shape is None:
        return max(unknown, 1) * max(unknown, 1) * 4
    total = 4 if spec.dtype in (None, "string") else numpy_dtype(spec.dtype).itemsize
    for size in spec.shape:
        total *= size if isinstance(size, int) else sizes.get(size or "", unknown)
    return total


def bound_sizes(specs: Mapping[str, TensorSpec], feeds: Arrays) -> tuple[dict[str, int], int]:
    """The sizes of the named axes by the fed arrays, and the largest axis among them."""
    sizes: dict[str, int] = {}
    largest = 1
    for name, value in feeds.items():
        if not isinstance(value, np.ndarray):
            continue
        largest = max(largest, *value.shape, 1)
        spec = specs.get(name)
        if spec is not None and spec.shape is not None and len(spec.shape) == value.ndim:
            named = zip(spec.shape, value.shape, strict=True)
            sizes.update({axis: size for axis, size in named if isinstance(axis, str)})
    return sizes, largest


def batches(
    cutter: Cutter, fetch: Sequence[str], sizes: Mapping[str, int], budget: int
) -> list[list[str]]:
    """``fetch`` in the order of computation, split where the budget is used up.

    ``sizes`` are the estimated bytes of each tensor. A single tensor above the budget is a
    batch of its own: it cannot be split.
    """
    ordered = sorted(fetch, key=lambda name: (cutter.position(name), name))
    return batching.batches(ordered, sizes.__getitem__, budget)
