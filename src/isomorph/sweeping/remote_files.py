"""The files of a cell on the machine that runs it: those of shared paths, and those sent to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from isomorph.sweeping.cell_keys import file_digest, file_stamp

if TYPE_CHECKING:
    from isomorph.sweeping.task import CellFile

PART_BYTES = 64 << 20
"""A file is sent in parts of this size, so that no process holds a whole model."""

_digests: dict[tuple[str, str], str] = {}
"""Digests of files that this process has read, by path and stamp."""


def is_here(file: CellFile) -> bool:
    """Whether this machine has the file at the same path, with the same bytes."""
    path = Path(file.path)
    try:
        facts = path.stat()
        if facts.st_size != file.size or not path.is_file():
            return False
        stated = file.path, file_stamp(facts)
        if stated not in _digests:
            _digests[stated] = file_digest(path)
        return _digests[stated] == file.digest
    except OSError:
        return False


def absent_words(files: Mapping[str, Sequence[CellFile]]) -> list[str]:
    """The paths of a cell of which a file is not on this machine."""
    return [word for word, each in files.items() if not all(is_here(file) for file in each)]


def write_files(
    word: str,
    files: Sequence[CellFile],
    parts: Mapping[str, Sequence[Any]],
    fetch: Callable[[Any], bytes],
    folder: Path,
) -> Path:
    """Write the files of one path below ``folder``; the path that stands for ``word`` there."""
    place = folder / PurePath(word).name
    for file in files:
        target = place if not file.name else (place if _is_folder(files) else folder) / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as stream:
            for part in parts[file.digest]:
                stream.write(fetch(part))
    return place


def _is_folder(files: Sequence[CellFile]) -> bool:
    """The first file of a path that names a file has no name of its own; see ``CellFile``."""
    return all(each.name for each in files)
