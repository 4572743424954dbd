"""Splitting tensors into batches that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")


def batches(keys: Iterable[K], size_of: Callable[[K], int], most: int) -> list[list[K]]:
    """Split tensors in their order into batches of at most ``most`` bytes.

    A tensor that is larger is a batch of its own: it cannot be split.
    """
    found: list[list[K]] = []
    used = 0
    for key in keys:
        size = size_of(key)
        if not found or used + size > most:
            found.append([])
            used = 0
        found[-1].append(key)
        used += size
    return found
