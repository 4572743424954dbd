"""What changes when something writes to a file: a cheap answer to whether it is still the same."""

from __future__ import annotations

import os
import time

Stamp = tuple[int, ...]
"""Inode, size and time of the last change of a file."""

_SETTLED_NANOSECONDS = 2_000_000_000
"""Age of the last change from which on a later one has another time: file systems count time in
steps of up to two seconds."""


def stamp_of(file: str | os.PathLike[str] | int) -> Stamp | None:
    """The stamp of a path or of an open file; None where there is no file."""
    try:
        seen = os.stat(file)  # noqa: PTH116 - of a descriptor as well
    except (OSError, ValueError):
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def settled_stamp(path: str | os.PathLike[str]) -> Stamp | None:
    """The stamp of a file that was not written to just now; any later change gives another one."""
    found = stamp_of(path)
    if found is None or time.time_ns() - found[-1] < _SETTLED_NANOSECONDS:
        return None
    return found
