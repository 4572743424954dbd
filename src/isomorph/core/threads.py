"""The number of threads of one oracle, so that two of them can run at a time."""

from __future__ import annotations

import os


def threads_per_side() -> int:
    """Half of the cores that this process may use: reference and candidate run at a time.

    Two pools that each take every core wait for one another far longer than they compute.
    """
    available = getattr(os, "sched_getaffinity", None)
    cores = len(available(0)) if available is not None else os.cpu_count() or 1
    return max(1, cores // 2)
