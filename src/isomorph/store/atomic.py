"""Files that are whole or absent: written aside, flushed to the disk, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from isomorph.core.errors import RefusedError, UsageError


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its name when the block ends well and vanishes otherwise."""
    refuse_link(path)
    aside = _aside(path)
    try:
        with aside.open("xb") as file:
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
        yield aside
        for file in aside.iterdir():
            _flush(file)
        _flush_folder(aside)
        aside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def refuse_link(path: Path) -> None:
    """A name that leads elsewhere is not written to: the file at its end is not ours."""
    if path.is_symlink():
        raise RefusedError(
            "OUTPUT_IS_LINK",
            "the place to write to is a symbolic link",
            file=str(path),
            fix="name the file itself, or remove the link",
        )


def _aside(path: Path) -> Path:
    # In the same folder, because only there is a rename one step.
    return path.parent / f".isomorph-{secrets.token_hex(8)}"


def _flush(file: Path) -> None:
    fd = os.open(file, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _flush_folder(folder: Path) -> None:
    # The rename is only safe from a power failure once the folder is on the disk too.
    _flush(folder)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        "OUTPUT_UNWRITABLE", "the output cannot be written", file=str(path), why=error.strerror
    )
