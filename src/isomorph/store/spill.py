"""Fetched tensors beyond a memory budget, kept in unnamed files on disk."""

from __future__ import annotations

import math
import tempfile
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.memory import share_of_memory

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Value

BYTE_BUDGET = 1 << 30
"""What may be fetched at once where nothing limits the process; more of it waits on disk."""


def byte_budget() -> int:
    """What may be fetched at once: a small share of what this process may hold."""
    return share_of_memory(BYTE_BUDGET)


def spilled(value: Value) -> Value:
    """The same tensor on disk; anything else stays as it is."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUS" or value.nbytes == 0:
        return value
    with tempfile.TemporaryFile(prefix="isomorph-") as file:
        whole: Array = np.memmap(file, dtype=value.dtype, mode="w+", shape=value.shape)
        whole[...] = value
    return whole


def _held_bytes(value: Value) -> int:
    """The memory of a tensor: one that repeats its elements along an axis holds them once."""
    if not isinstance(value, np.ndarray):
        return getattr(value, "nbytes", 0)
    sizes = (size for size, step in zip(value.shape, value.strides, strict=True) if step)
    return math.prod(sizes) * value.itemsize if value.size else 0


class SpillingTensors:
    """Holds what was fetched so far: in memory up to the budget, on disk beyond it."""

    def __init__(self, budget: int | None = None) -> None:
        self._free_bytes = byte_budget() if budget is None else budget

    def keep(self, value: Value) -> Value:
        """The value, or the same on disk."""
        size = _held_bytes(value)
        if size <= self._free_bytes:
            self._free_bytes -= size
            return value
        return spilled(value)
