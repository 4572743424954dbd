"""Check the directory of a zip archive before anything is extracted."""

from __future__ import annotations

import lzma
import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path

from isomorph.core.errors import RefusedError

BOMB_RATIO = 100
"""Weights hardly shrink; a whole archive that grows more than this holds mostly nothing."""
BOMB_BYTES = 1 << 30
"""Below this total the ratio does not matter: unpacking it does no harm."""
DIRECTORY_BYTES = 64 << 20
"""Enough for several hundred thousand members; a longer directory is itself the attack."""

DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError,
    ValueError,
)  # fmt: skip
"""What zipfile raises where the bytes of an archive are not what they should be."""

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

_END = b"PK\x05\x06"
_END_HEADER_BYTES = 22
_END_BYTES = _END_HEADER_BYTES + 0xFFFF
_LOCAL_HEADER_BYTES = 30
_DRIVE = re.compile(r"^[A-Za-z]:")


def check_archive(path: Path) -> tuple[str, ...]:
    """The names of the members, or a refusal; ``zipfile.BadZipFile`` where there is no archive."""
    _check_directory(path)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    if members and min(member.header_offset for member in members) != 0:
        raise zipfile.BadZipFile("its directory does not list its first bytes")
    _check_names(path, members)
    _check_sizes(path, members)
    return tuple(member.filename for member in members)


def _check_directory(path: Path) -> None:
    # zipfile reads the whole directory into memory, whatever its size.
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END_BYTES))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_HEADER_BYTES:
        raise zipfile.BadZipFile("the end of the archive is missing")
    length, _, comment = struct.unpack_from("<IIH", tail, at + 12)
    # Where an archive was cut, the last end in it may be that of an archive stored inside.
    if at + _END_HEADER_BYTES + comment != len(tail):
        raise zipfile.BadZipFile("the end of the archive is not where the file ends")
    # All ones mean that the true length stands elsewhere; then the file bounds it.
    if min(length, size) > DIRECTORY_BYTES:
        raise _bomb(path, f"its directory alone takes {min(length, size)} bytes")


def _check_names(path: Path, members: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for member in members:
        # `orig_filename` still has what follows a NUL, which `filename` hides.
        name = member.orig_filename
        parts = re.split(r"[/\\]", name)
        escapes = ".." in parts or parts[0] == "" or _DRIVE.match(name) or "\0" in name
        if escapes:
            raise _traversal(path, name, "it would be written outside the archive's folder")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise _traversal(path, name, "it is a symbolic link")
        if member.filename in seen:
            raise _traversal(path, name, "it occurs twice, so readers disagree on its content")
        seen.add(member.filename)


def _check_sizes(path: Path, members: list[zipfile.ZipInfo]) -> None:
    stored = path.stat().st_size
    total = sum(member.file_size for member in members)
    if total > BOMB_BYTES and total > BOMB_RATIO * stored:
        raise _bomb(path, f"{stored} bytes would become {total}")
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < end:
            raise _bomb(path, f"member {member.filename!r} shares its bytes with another")
        end = member.header_offset + _LOCAL_HEADER_BYTES + member.compress_size
        if member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size:
            raise _bomb(path, f"member {member.filename!r} lies about its size")


def _bomb(path: Path, why: str) -> RefusedError:
    return RefusedError(
        "ARCHIVE_BOMB",
        "the archive would unpack to far more than it holds",
        file=str(path),
        why=why,
        fix="make the file again without compression if you made it",
    )


def _traversal(path: Path, name: str, why: str) -> RefusedError:
    return RefusedError(
        "ARCHIVE_TRAVERSAL",
        "the archive holds a member that no honest writer makes",
        file=str(path),
        where=f"member {name!r}",
        why=why,
    )
