"""CPU seconds of this process and of the workers that it has started."""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

_workers: dict[int, int | None] = {}
"""The children by process, each with the open file in which the system accounts for it."""
_lock = threading.Lock()
"""A file that was closed may be another one by the time that it is read."""
_STAT_BYTES = 4096


def watch(pid: int) -> None:
    """Count the CPU seconds of this child while it lives."""
    with _lock:
        _workers[pid] = _opened(pid)


def unwatch(pid: int) -> None:
    """The child was waited for: the system counts it among the ended ones."""
    with _lock:
        file = _workers.pop(pid, None)
        if file is not None:
            os.close(file)


def _opened(pid: int) -> int | None:
    """The file with the times of a process, read again for every phase; None without ``/proc``."""
    with suppress(OSError):
        return os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    return None


def tree_seconds() -> float:
    """CPU seconds of this process, its living workers and its ended children."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(process_seconds(pid) for pid in tuple(_workers))
    return time.process_time() + ended.ru_utime + ended.ru_stime + living


def process_seconds(pid: int) -> float:
    """CPU seconds of a living process and the children that it has waited for; else 0."""
    try:
        # The name may contain spaces and parentheses; what follows it does not.
        fields = _stat(pid).rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return _seconds_elsewhere(pid)


def _stat(pid: int) -> bytes:
    with _lock:
        file = _workers.get(pid)
        if file is not None:
            return os.pread(file, _STAT_BYTES, 0)
    return Path(f"/proc/{pid}/stat").read_bytes()


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
