"""Files that are whole or absent: written aside, flushed to the disk, then renamed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from isomorph.core.errors import IsomorphError, RefusedError, RuntimeFailedError, UsageError
from isomorph.store.leftovers import claim, remove_leftovers

_ASIDE = re.compile(r"\.isomorph-[0-9a-f]{16}")
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its name when the block ends well and vanishes otherwise."""
    refuse_link(path)
    aside = _aside(path)
    try:
        with aside.open("xb") as file:
            claim(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes its name when the block ends well and vanishes otherwise."""
    refuse_link(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(
            "OUTPUT_EXISTS",
            "the place to write to is not empty",
            file=str(path),
            fix="name a new folder, or remove this one",
        )
    aside = _aside(path)
    try:
        aside.mkdir()
        lock = _locked(aside)
        try:
            yield aside
        finally:
            os.close(lock)
        for file in aside.iterdir():
            _flush(file)
        _flush_folder(aside)
        aside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def copy_folder(source: Path, path: Path, changed: Mapping[Path, bytes]) -> None:
    """A copy of a folder, whole or not at all; ``changed`` are other bytes by resolved path.

    Links are left out: they may lead anywhere.
    """
    with new_folder(path) as folder:
        for each in sorted(source.rglob("*")):
            target = folder / each.relative_to(source)
            if each.is_dir() and not each.is_symlink():
                target.mkdir(parents=True, exist_ok=True)
            elif (raw := changed.get(each.resolve())) is not None and not each.is_symlink():
                target.write_bytes(raw)
            elif not each.is_symlink():
                shutil.copyfile(each, target)


def refuse_link(path: Path) -> None:
    """Refuse to write through a symbolic link."""
    if path.is_symlink():
        raise RefusedError(
            "OUTPUT_IS_LINK",
            "the place to write to is a symbolic link",
            file=str(path),
            fix="name the file itself, or remove the link",
        )


def _aside(path: Path) -> Path:
    # In the same folder, because only there is a rename one step. What a killed process left
    # there is of no use to a user, so the next writer removes it.
    with suppress(OSError):
        remove_leftovers(each for each in path.parent.iterdir() if _ASIDE.fullmatch(each.name))
    return path.parent / f".isomorph-{secrets.token_hex(8)}"


def _locked(folder: Path) -> int:
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    claim(lock)
    return lock


def _flush(file: Path) -> None:
    fd = os.open(file, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _flush_folder(folder: Path) -> None:
    # The rename is only safe from a power failure once the folder is on the disk too.
    _flush(folder)


def _unwritable(path: Path, error: OSError) -> IsomorphError:
    if error.errno not in _DISK_FULL:
        return UsageError(
            "OUTPUT_UNWRITABLE", "the output cannot be written", file=str(path), why=error.strerror
        )
    return RuntimeFailedError(
        "DISK_FULL",
        "the output cannot be written",
        file=str(path),
        why=f"{error.strerror}; {shutil.disk_usage(path.parent).free} bytes are free there",
        fix="free some disk space, or name a file on a larger disk",
    )
