"""How much of a process's memory one purpose may take."""

from __future__ import annotations

import ctypes
import resource

_SHARE = 8
_LARGE = 256
_M_MMAP_THRESHOLD = -3
_LARGEST_THRESHOLD = 32 << 20


def share_of_memory(most: int) -> int:
    """An eighth of what this process may hold, and never more than ``most`` bytes."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return most if limit == resource.RLIM_INFINITY else max(1, min(most, limit // _SHARE))


def give_back() -> None:
    """Hand the memory that was freed back to the system, which libraries keep for later.

    Reading a model takes twice its size for a moment; afterwards half of it is unused.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)


def keep_large_apart(memory_bytes: int) -> None:
    """Where memory is short, give each large tensor pages of its own, which go back when it goes.

    In the common heap an aligned block does not fit into the hole that one of the same size has
    left: a network of equal layers would take the memory of all of
    them. Pages of its own cost time.
    """
    large = memory_bytes // _LARGE
    choose = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if choose is not None and large < _LARGEST_THRESHOLD:
        choose(_M_MMAP_THRESHOLD, large)
