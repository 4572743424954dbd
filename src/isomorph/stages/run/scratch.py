"""Private temporary folders that nobody else can read and that do not outlive us.

A process that is killed cannot clean up, so each folder holds a lock that dies with its owner,
and the next process that makes one removes those whose lock is free.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from isomorph.core.errors import UsageError

PREFIX = "isomorph-"
_LOCK = "owner.lock"
# Long enough that a folder between its making and its locking is never taken for an orphan.
_SETTLED_SECONDS = 60.0


class Scratch:
    """One folder, mode 0700, until ``remove``."""

    def __init__(self) -> None:
        try:
            _sweep(Path(tempfile.gettempdir()))
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        except OSError as error:
            raise UsageError(
                "NO_TEMPORARY_FOLDER",
                "no temporary folder can be made",
                why=str(error),
                fix="set TMPDIR to a folder that can be written to",
            ) from error
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def folder(self, name: str) -> Path:
        """An empty folder of that name inside; what was in it before is gone."""
        path = self.path / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)
        return path

    def remove(self) -> None:
        """Delete the folder and everything in it; harmless when repeated."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sweep(parent: Path) -> None:
    """Remove our own folders whose owner is gone."""
    try:
        found = [Path(entry.path) for entry in os.scandir(parent) if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for folder in found:
        if _is_orphan(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_orphan(folder: Path) -> bool:
    try:
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
            return False
        if time.time() - about.st_mtime < _SETTLED_SECONDS:
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(lock)
