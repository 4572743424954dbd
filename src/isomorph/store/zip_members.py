"""Members of a zip archive as files that can be searched.

Python's own member files read everything again whenever one seeks backwards, which makes a
database inside an archive a matter of minutes.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

_LOCAL_HEADER = struct.Struct("<26xHH")


def member_names(path: Path) -> tuple[str, ...]:
    """Return the names of all members, in their order.

    Each framework asks for them to recognize its files, some of them several times: the directory
    of a file that has not changed is read once.
    """
    about = path.stat()
    return _names(path, (about.st_ino, about.st_size, about.st_mtime_ns))


@lru_cache(maxsize=8)
def _names(path: Path, state: tuple[int, int, int]) -> tuple[str, ...]:
    """``state`` tells files apart that were at this path one after the other."""
    with zipfile.ZipFile(path) as archive:
        return tuple(archive.namelist())


def members(path: Path, suffix: str) -> Iterator[io.BufferedIOBase]:
    """Each member whose name has this suffix, as an open file; stored ones are read in place."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(suffix):
                continue
            if info.compress_type == zipfile.ZIP_STORED:
                with path.open("rb") as file:
                    window = _Window(file, _data_start(file, info), info.file_size)
                    yield io.BufferedReader(window)
            else:
                yield io.BytesIO(archive.read(info))


def _data_start(file: Any, info: zipfile.ZipInfo) -> int:  # noqa: ANN401
    file.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    return info.header_offset + _LOCAL_HEADER.size + int(name) + int(extra)


class _Window(io.RawIOBase):
    """A part of an open file."""

    def __init__(self, file: Any, start: int, size: int) -> None:  # noqa: ANN401
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, origin + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        self._file.seek(self._start + self._at)
        data = self._file.read(min(len(buffer), max(0, self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
