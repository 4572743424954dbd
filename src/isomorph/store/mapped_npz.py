"""An .npz archive larger than memory: its arrays are mapped where they lie in the file."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from isomorph.core.errors import UsageError
from isomorph.store.npy import NpyError, map_part
from isomorph.store.zip_safety import check_archive

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


def unpacked_bytes(path: Path) -> int:
    """What the arrays take together, once they are read."""
    check_archive(path)
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def map_npz(path: Path) -> dict[str, Array]:
    """Every array, mapped; one that is compressed cannot be, and is an error."""
    check_archive(path)
    arrays: dict[str, Array] = {}
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                raise NpyError(f"member {member.filename!r} is no array")
            if member.compress_type != zipfile.ZIP_STORED:
                raise _compressed(path, member)
            start = _start(file, member)
            name = member.filename.removesuffix(".npy")
            arrays[name] = map_part(path, start, start + member.file_size, member.filename)
    return arrays


def _start(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin; the lengths before it stand only in its own header."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size:
        raise zipfile.BadZipFile(f"the header of {member.filename!r} is cut")
    *_, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    return member.header_offset + _LOCAL_HEADER.size + int(name_bytes) + int(extra_bytes)


def _compressed(path: Path, member: zipfile.ZipInfo) -> UsageError:
    return UsageError(
        "DATA_TOO_LARGE",
        "the arrays are compressed and do not fit into memory together",
        file=str(path),
        where=f"{member.filename!r} takes {member.file_size} bytes",
        fix="write them with numpy.savez, which does not compress, or as one file per sample; "
        "or allow more with --memory",
    )
