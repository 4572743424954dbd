"""The memory of the machine, or of the container that limits it."""

from __future__ import annotations

from pathlib import Path

import psutil

# Where version 2 and version 1 of control groups keep the limit of the group we are in.
_GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def total_memory() -> int:
    """Bytes of physical memory, or of the control group's share of it."""
    limits = [int(psutil.virtual_memory().total)]
    for path in _GROUP_LIMITS:
        try:
            limit = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if limit.isdigit():  # "max" where there is none
            limits.append(int(limit))
    return min(limits)


def default_worker_memory() -> int:
    """The default memory limit of one worker."""
    return total_memory() * 3 // 4
