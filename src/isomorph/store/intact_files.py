"""Whether a file that its framework refuses is complete: then it is not the file's fault."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from isomorph.core.lazy import require
from isomorph.store.zip_safety import DAMAGE

if TYPE_CHECKING:
    from pathlib import Path

_HDF5 = b"\x89HDF\r\n\x1a\n"

_DAMAGE = (*DAMAGE, KeyError, IndexError, TypeError, OverflowError)
"""What zipfile and h5py raise where bytes are not what they should be."""

NOT_BUILT = "MODEL_NOT_BUILT"
NOT_BUILT_FIX = (
    "open it with the versions and packages that wrote it, and save it from there as an "
    "ExportedProgram, a SavedModel or ONNX"
)


def intact(path: Path) -> bool:
    """Whether every member of an archive has its checksum, or an HDF5 file its declared length.

    Of other formats nothing is known, and the answer is no.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begins = file.read(len(_HDF5))
    return _whole_hdf5(path) if begins == _HDF5 else _whole_archive(path)


def _whole_archive(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except _DAMAGE:
        return False


def _whole_hdf5(path: Path) -> bool:
    h5py = require("h5py", extra="tensorflow", needed_for="an .h5 model")
    try:
        with h5py.File(path, "r") as file:
            file.visit(lambda _: None)
    except _DAMAGE:
        return False
    return True
