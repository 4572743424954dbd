"""The memory of the machine, or of the container that limits it."""

from __future__ import annotations

import os
from pathlib import Path

# Where version 2 and version 1 of control groups keep the limit of the group we are in.
_GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def total_memory() -> int:
    """Bytes of physical memory, or of the control group's share of it."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _GROUP_LIMITS:
        try:
            limit = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if limit.isdigit():  # "max" where there is none
            limits.append(int(limit))
    return min(limits)


def resident_memory(pid: int) -> int | None:
    """Bytes of its own that a process holds in memory; None where it has ended.

    Mapped files are not its own; where the system counts them separately, they do not count.
    """
    try:
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text("ascii").split()[:3]
    except (OSError, ValueError):
        return _resident_elsewhere(pid)
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _resident_elsewhere(pid: int) -> int | None:
    """As ``resident_memory``, where there is no ``/proc``."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


def default_worker_memory() -> int:
    """The default memory limit of one worker."""
    return total_memory() * 3 // 4
