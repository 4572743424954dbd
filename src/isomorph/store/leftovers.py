"""Files of killed processes, recognized by their released locks."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# Long enough that a thing between its making and its locking is never taken for a leftover.
SETTLED_SECONDS = 60.0


def claim(lock: int) -> None:
    """Hold an open file or folder for as long as this process lives."""
    with suppress(OSError):  # a file system without locks: leftovers then stay
        fcntl.flock(lock, fcntl.LOCK_EX)


def remove_leftovers(found: Iterable[Path], *, lock: str = "") -> None:
    """Remove our files and folders whose lock (the file, or a file in the folder) is free."""
    for thing in found:
        if not _abandoned(thing, thing / lock):
            continue
        if thing.is_dir():
            shutil.rmtree(thing, ignore_errors=True)
        else:
            with suppress(OSError):
                thing.unlink()


def _abandoned(thing: Path, lock: Path) -> bool:
    try:
        about = thing.lstat()
        ours = about.st_uid == os.getuid() and not stat.S_ISLNK(about.st_mode)
        if not ours or time.time() - about.st_mtime < SETTLED_SECONDS:
            return False
        descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
