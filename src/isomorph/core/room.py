"""How much of a process's memory one purpose may take."""

from __future__ import annotations

import resource

_SHARE = 8


def share_of_memory(most: int) -> int:
    """An eighth of what this process may hold, and never more than ``most`` bytes."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return most if limit == resource.RLIM_INFINITY else max(1, min(most, limit // _SHARE))
