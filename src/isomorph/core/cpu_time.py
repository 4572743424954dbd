"""CPU seconds of this process and of the workers that it has started."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

_workers: set[int] = set()


def watch(pid: int) -> None:
    """Count the CPU seconds of this child while it lives."""
    _workers.add(pid)


def unwatch(pid: int) -> None:
    """The child was waited for: the system counts it among the ended ones."""
    _workers.discard(pid)


def tree_seconds() -> float:
    """CPU seconds of this process, its living workers and its ended children."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(process_seconds(pid) for pid in tuple(_workers))
    return time.process_time() + ended.ru_utime + ended.ru_stime + living


def process_seconds(pid: int) -> float:
    """CPU seconds of a living process and the children that it has waited for; else 0."""
    try:
        # The name may contain spaces and parentheses; what follows it does not.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return _seconds_elsewhere(pid)


def _seconds_elsewhere(pid: int) -> float:
    """As ``process_seconds``, where there is no ``/proc``."""
    import psutil

    try:
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    except psutil.Error:
        return 0.0


def seconds_since_start() -> float | None:
    """The age of this process in seconds; None where the system does not tell."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, AttributeError):
        return None
