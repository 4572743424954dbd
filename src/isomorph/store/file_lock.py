"""A lock on a file that one process holds, and that ends with it however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path


class FileLock:
    """Tries once to take the lock; ``taken`` tells whether it did."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.taken = _lock(self._descriptor)
        if not self.taken:
            os.close(self._descriptor)

    def release(self) -> None:
        """Let another process take it."""
        if self.taken:
            self.taken = False
            os.close(self._descriptor)


def _lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
