"""What a cell follows from, as one digest: two cells with one key have one answer.

That is the command with its options and seed, the bytes of the models and inputs, and the versions
of isomorph, Python and every package that may run a model.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError
from isomorph.core.runtime_word import split_word
from isomorph.store.projects import PATHS
from isomorph.sweeping.task import CellFile
from isomorph.version import VERSION
from isomorph.workers.interpreters import find_executable, installed_packages

if TYPE_CHECKING:
    import os

    from isomorph.core.sweep import Cell
    from isomorph.store.sweep_store import SweepStore

_IRRELEVANT = ("pip", "setuptools", "wheel")
"""Installers: no answer follows from them."""


def versions() -> Mapping[str, str]:
    """The version of everything installed; a runtime may use any of it."""
    found = {"isomorph": VERSION, "python": platform.python_version()}
    for each in distributions(path=_outside_packages()):
        name = str(each.metadata["Name"]).lower()
        if name not in _IRRELEVANT:
            found.setdefault(name, each.version)
    return found


def _outside_packages() -> list[str]:
    """The folders that packages are installed in.

    A folder inside a package holds that package's own copies of others; setuptools adds one to the
    path of a process that imports it, and what is installed is still the same.
    """
    return [each for each in sys.path if not (Path(each).parent / "__init__.py").is_file()]


def environments_of(runtime: object) -> list[str]:
    """The places of the environments that the option ``runtime`` names."""
    words = runtime.values() if isinstance(runtime, Mapping) else (runtime,)
    places = (split_word(word)[1] for word in words if isinstance(word, str))
    return sorted({place for place in places if place})


def _packages_of(place: str) -> Mapping[str, str]:
    return installed_packages(find_executable(place))


class CellKeys:
    """Keys of cells, with every file read once; the store knows those that have not changed."""

    def __init__(
        self,
        store: SweepStore,
        installed: Mapping[str, str],
        packages: Callable[[str], Mapping[str, str]] = _packages_of,
    ) -> None:
        """``packages`` tells the versions in the environment of a place that a runtime names."""
        self._store, self._packages = store, packages
        self._installed = dict(sorted(installed.items()))
        self._content: dict[str, tuple[str, tuple[CellFile, ...]]] = {}

    def key(self, cell: Cell) -> str:
        """The digest of everything that the answer of a cell follows from."""
        stated = {
            name: self._of_path(str(value)) if name in PATHS else value
            for name, value in cell.options.items()
        }
        places = environments_of(cell.options.get("runtime"))
        elsewhere = {place: self._packages(place) for place in places}
        facts = {
            "verb": cell.verb, "seed": cell.seed, "options": stated,
            "reference": self._of_path(cell.reference),
            "candidate": self._of_path(cell.candidate) if cell.candidate else "",
            "versions": self._installed,
        }  # fmt: skip
        if elsewhere:
            facts["elsewhere"] = elsewhere
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def files(self, cell: Cell) -> dict[str, tuple[CellFile, ...]]:
        """The files of each path that the cell states; call ``key`` first."""
        stated = [str(value) for name, value in cell.options.items() if name in PATHS]
        words = (cell.reference, cell.candidate, *stated)
        return {word: self._content[word][1] for word in words if word}

    def _of_path(self, word: str) -> str:
        if word not in self._content:
            path = Path(word)
            if not path.exists():
                raise UsageError("FILE_NOT_FOUND", "there is no such file or folder:", file=word)
            digest, files = hashlib.sha256(), []
            for name, file in _files(path):
                files.append(self._of_file(file, name))
                digest.update(f"{name}\0{files[-1].digest}\0".encode())
            self._content[word] = digest.hexdigest(), tuple(files)
        return self._content[word][0]

    def _of_file(self, path: Path, name: str) -> CellFile:
        facts = path.stat()
        stamp = file_stamp(facts)
        known = self._store.digest(str(path), stamp)
        if known is None:
            known = file_digest(path)
            self._store.note_digest(str(path), stamp, known)
        return CellFile(path=str(path), name=name, digest=known, size=facts.st_size)


def file_digest(path: Path) -> str:
    """The SHA-256 of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_stamp(facts: os.stat_result) -> str:
    """What changes with a file: its size, its times and its place on the disk."""
    return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder, or a file with those beside it that belong to it."""
    if path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file():
                yield each.relative_to(path).as_posix(), each
        return
    yield "", path
    # External weights lie beside their model, or one folder below.
    near = (*path.parent.glob("*"), *path.parent.glob("*/*"))
    beside = sorted(each for each in near if each.is_file() and each != path)
    for each in _mentioned(path, beside):
        yield each.relative_to(path.parent).as_posix(), each


def _mentioned(path: Path, beside: list[Path]) -> Iterator[Path]:
    """Files whose name stands in the model (external weights), or which differ in their suffix.

    No model is parsed for that: a hostile one must not harm the process that plans the sweep. A
    file too many costs only that its change runs the cell again.
    """
    if not beside or path.stat().st_size == 0:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for each in beside:
            name = each.relative_to(path.parent).as_posix()
            weights = each.parent == path.parent and each.stem == path.stem
            if (weights and each.suffix == ".bin") or content.find(name.encode()) >= 0:
                yield each
