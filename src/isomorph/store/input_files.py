"""Arrays from a file and into one: .npy, .npz, safetensors and saved traces, by content."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.trace import flatten
from isomorph.store import file_signatures, safetensors, traces
from isomorph.store.atomic import new_file
from isomorph.store.dtypes import STRING, dtype_name, words_of
from isomorph.store.mapped_npz import map_npz, unpacked_bytes
from isomorph.store.npy import HoldsObjectsError, NpyError, map_npy, read_npy
from isomorph.store.reported_inputs import reported_inputs
from isomorph.store.safe_paths import head_of, kind_of
from isomorph.store.zip_safety import DAMAGE, check_archive
from isomorph.store.zip_safety import MAGIC as ZIP

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Arrays

UNNAMED = ""
"""The name under which a .npy file gives its one array: it is the model's only input."""

_HEAD_BYTES = 4096


def read_arrays(path: Path, *, most_bytes: int | None = None) -> dict[str, Any]:
    """The arrays of a file or saved trace by name, mapped where the format lets them be.

    An archive is read whole, which checks its sums, unless it holds more than ``most_bytes``.
    """
    if kind_of(path, error=UsageError) == "folder":
        if not traces.is_trace(path):
            raise _unreadable(path, "this is a folder, and no saved trace")
        return dict(traces.read(path).tensors)
    head = head_of(path, _HEAD_BYTES, error=UsageError)
    try:
        if most_bytes is not None and head.startswith(ZIP) and unpacked_bytes(path) > most_bytes:
            return map_npz(path)
        return dict(_reader(path, head)(path))
    except HoldsObjectsError as error:
        raise RefusedError(
            "UNSAFE_PICKLE",
            "the file holds pickled Python objects",
            file=str(path),
            where=f"array {error.args[0]!r}",
            why="reading them would run whatever code they name",
            fix="save strings with dtype=str, and numbers with a numeric dtype",
        ) from error
    except (NpyError, safetensors.FormatError, zipfile.BadZipFile) as error:
        raise _unreadable(path, str(error)) from error
    # Names that are no text are a ValueError, an encrypted member is a RuntimeError.
    except DAMAGE as error:
        raise _unreadable(path, f"it is damaged: {error}") from error


def _reader(path: Path, head: bytes) -> Callable[[Path], Mapping[str, Array]]:
    if head.startswith(file_signatures.NPY):
        return _read_npy
    if head.startswith(ZIP):
        return _read_npz
    if file_signatures.is_safetensors(head) or path.suffix == ".safetensors":
        return safetensors.read
    if not head:
        raise _unreadable(path, "the file is empty")
    if head.lstrip().startswith(b"{") and path.suffix == ".json":
        return reported_inputs
    verdict = file_signatures.not_a_model(head)
    raise _unreadable(path, verdict.what if verdict else "it is none of the formats below")


def _read_npy(path: Path) -> dict[str, Array]:
    return {UNNAMED: map_npy(path)}


def _read_npz(path: Path) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    names = check_archive(path)
    with zipfile.ZipFile(path) as archive:
        for name in names:
            if not name.endswith(".npy"):
                raise NpyError(f"member {name!r} is no array")
            with archive.open(name) as member:
                size = archive.getinfo(name).file_size
                arrays[name.removesuffix(".npy")] = read_npy(member, size, name)
    return arrays


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(
        "INPUTS_UNREADABLE",
        "no arrays can be read from this file:",
        file=str(path),
        why=why,
        fix="give arrays as .npz (numpy.savez), .npy or .safetensors",
    )


def write_arrays(path: Path, arrays: Arrays) -> tuple[str, ...]:
    """Write .npz or .safetensors, whole or not at all; the notes state what could not be kept."""
    writers = {".npz": _write_npz, ".safetensors": _write_safetensors}
    write = writers.get(path.suffix.lower())
    if write is None:
        raise UsageError(
            "OUTPUT_FORMAT",
            f"arrays are not written as {path.suffix or 'a file without suffix'}",
            file=str(path),
            fix=f"name it {path.stem}.npz or {path.stem}.safetensors",
        )
    flat = {key: item for name in arrays for key, item in flatten(name, arrays[name]).items()}
    notes = [f"{name!r} is absent and was not written" for name, v in flat.items() if v is None]
    present = {name: np.asarray(value) for name, value in flat.items() if value is not None}
    with new_file(path) as file:
        notes += write(file, present, path)
    return tuple(notes)


def _write_npz(file: BinaryIO, arrays: Mapping[str, Array], path: Path) -> list[str]:
    notes: list[str] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            kept = _as_numpy_names_it(array)
            if kept.dtype != array.dtype and dtype_name(array.dtype) != STRING:
                notes.append(
                    f"{name!r} is {array.dtype}, which .npz has no word for; its values are "
                    f"written as {kept.dtype}, unchanged"
                )
            _write_member(archive, name, kept, path)
    return notes


def _write_member(archive: zipfile.ZipFile, name: str, array: Array, path: Path) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _unnameable(path, name) from error
    # zipfile itself cuts a name at NUL, and a name like this would not be read back by us.
    if "\0" in name or ".." in name.replace("\\", "/").split("/") or name.startswith(("/", "\\")):
        raise _unnameable(path, name)
    with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def _as_numpy_names_it(array: Array) -> Array:
    if dtype_name(array.dtype) == STRING:
        return np.array(words_of(array), dtype=str).reshape(array.shape)
    if array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1:
        return array
    # What is left is narrower than a byte or a float32, so nothing is lost.
    name = dtype_name(array.dtype)
    wider = "int8" if name.startswith("int") else "uint8" if name.startswith("uint") else "float32"
    return array.astype(wider)


def _write_safetensors(file: BinaryIO, arrays: Mapping[str, Array], path: Path) -> list[str]:
    for name, array in arrays.items():
        if dtype_name(array.dtype) not in safetensors.CODES or name == safetensors.METADATA:
            raise UsageError(
                "OUTPUT_FORMAT",
                f"safetensors cannot hold {dtype_name(array.dtype)} {name!r}",
                file=str(path),
                fix=f"name it {path.stem}.npz, or a folder for a whole trace",
            )
    safetensors.write(file, arrays)
    return []


def _unnameable(path: Path, name: str) -> UsageError:
    return UsageError(
        "OUTPUT_FORMAT",
        f"an .npz cannot hold a tensor named {name!r}",
        file=str(path),
        fix=f"name it {path.stem}.safetensors, or a folder for a whole trace",
    )
