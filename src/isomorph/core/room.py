"""How much of a process's memory one purpose may take."""

from __future__ import annotations

import ctypes
import resource

_SHARE = 8


def share_of_memory(most: int) -> int:
    """An eighth of what this process may hold, and never more than ``most`` bytes."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return most if limit == resource.RLIM_INFINITY else max(1, min(most, limit // _SHARE))


def give_back() -> None:
    """Hand the memory that was freed back to the system, which libraries keep for later.

    Reading a model takes twice its size for a moment; afterwards nobody needs the half of it.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)
