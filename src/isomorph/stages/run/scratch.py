"""Private temporary folders that nobody else can read and that do not outlive us.

A process that is killed cannot clean up, so each folder holds a lock that dies with its owner,
and the next process that makes one removes those whose lock is free.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from isomorph.core.errors import UsageError
from isomorph.store.leftovers import claim, remove_leftovers

PREFIX = "isomorph-"
_LOCK = "owner.lock"


class Scratch:
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


def _earlier(parent: Path) -> list[Path]:
    """Folders by our name, whoever made them."""
    try:
        return [Path(entry.path) for entry in os.scandir(parent) if entry.name.startswith(PREFIX)]
    except OSError:
        return []
