"""Private temporary folders that other users cannot read and that do not outlive the process.

A process that is killed cannot clean up, so each folder holds a lock that dies with its owner,
and the next process that makes one removes those whose lock is free.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path

from isomorph.core.errors import UsageError
from isomorph.store.leftovers import claim, remove_leftovers

PREFIX = "isomorph-"
_LOCK = "owner.lock"
_ATTEMPTS = 8


class TempDirs:
    """One folder, mode 0700, until ``remove``."""

    def __init__(self) -> None:
        try:
            remove_leftovers(_earlier(Path(tempfile.gettempdir())), lock=_LOCK)
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        except OSError as error:
            raise UsageError(
                "NO_TEMPORARY_FOLDER",
                "no temporary folder can be made",
                why=str(error),
                fix="set TMPDIR to a folder that can be written to",
            ) from error
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        claim(self._lock)
        self._guard = threading.Lock()
        self._ended = False

    def folder(self, name: str) -> Path:
        """An empty folder of that name inside; what was in it before is gone."""
        path = self.path / name
        with self._guard:
            if self._ended:
                raise RuntimeError("the host is closed")
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(mode=0o700)
        return path

    def end(self) -> None:
        """Give no further folders: a thread that lost its worker must not start another."""
        with self._guard:
            self._ended = True

    def remove(self) -> None:
        """Delete the folder and everything in it; harmless when repeated."""
        self.end()
        for _ in range(_ATTEMPTS):  # a thread in the midst of its work may add a last file
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                break
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _earlier(parent: Path) -> list[Path]:
    """Folders that any isomorph process made."""
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.name.startswith(PREFIX)]
    except OSError:
        return []
