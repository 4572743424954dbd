"""The weights of a .pt2 archive, left in the file: what is used is read when it is used."""

from __future__ import annotations

import math
import mmap
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from isomorph.core.memory import memory_limit
from isomorph.core.threads import in_threads
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.pytorch.pt2_values import DTYPES, Unknown, refuse_elsewhere, sizes

LARGE = 1 << 20
"""From this size on a weight is not held; below it, going back for it costs more than it takes."""

_SLOW_TO_READ = 512 << 20
"""A file of this size takes long to be read again at each use, though it lies in the memory of the
system: where that is ample, what was used of it stays mapped."""
_AMPLE = 4
"""How many times its size a process must be allowed to hold then."""

_PIECE = 4 << 20
"""Bytes of a weight that are compared with its checksum before their memory is released."""

_ALIGNED = 64
_HEADER, _LENGTHS = 30, 26
_ENCRYPTED = 1


class MappedWeights:
    """Weights and other constants by their names; several may share their bytes."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        members: Mapping[str, str],
        path: Path,
        documents: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._archive, self._members = archive, members
        with path.open("rb") as file:
            # A private copy that nobody writes to: torch warns of memory it may not write.
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._flat: dict[str, Any] = {}
        configs = {
            folder: parsed(archive, members[folder + config], documents)["config"]
            for folder, config in (
                ("data/constants/", "model_constants_config.json"),
                ("data/weights/", "model_weights_config.json"),
            )
        }
        self._entries = {
            name: (folder, entry)
            for folder, config in configs.items()
            for name, entry in config.items()
        }

    def tensor(self, name: str) -> Any:  # noqa: ANN401
        """The constant of this name, laid out as it was."""
        folder, entry = self._entries[name]
        if entry["use_pickle"] or not entry["path_name"].startswith(("weight_", "tensor_")):
            raise Unknown("a pickled constant")
        about = entry["tensor_meta"]
        refuse_elsewhere(about)
        dtype, shape, strides = (
            DTYPES[about["dtype"]], sizes(about["sizes"]), sizes(about["strides"]),
        )  # fmt: skip
        if not math.prod(shape):
            return torch.zeros(shape, dtype=dtype)
        flat = self._read(folder + entry["path_name"]).view(dtype)
        start = sizes([about["storage_offset"]])[0]
        last = start + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
        if not 0 <= last < flat.numel():
            raise Unknown("a constant that exceeds its bytes")
        return torch.as_strided(flat, shape, strides, start)

    def file_offset(self, name: str) -> int | None:
        """Where the bytes of a constant begin in the file; None where they are not in C order."""
        folder, entry = self._entries[name]
        about, tensor = entry["tensor_meta"], self.tensor(name)
        stored = self._archive.getinfo(self._members[folder + entry["path_name"]])
        if not tensor.numel() or not tensor.is_contiguous():
            return None
        if stored.compress_type != zipfile.ZIP_STORED:
            return None
        return self._start(stored) + sizes([about["storage_offset"]])[0] * int(tensor.itemsize)

    def release(self) -> None:
        """Nothing of the file needs to stay in memory; what is used again is read again."""
        if not self._stays():
            self._release(0, len(self._map))

    def _stays(self) -> bool:
        limit = memory_limit()
        ample = limit is None or _AMPLE * len(self._map) <= limit
        return ample and len(self._map) >= _SLOW_TO_READ

    def compare_checksums(self, names: Iterable[str]) -> None:
        """Compare the bytes of the large ones with their checksums, several at a time.

        Small ones are compared when they are read. zlib lets other threads run meanwhile.
        """
        members = {
            self._members[folder + entry["path_name"]]
            for folder, entry in (self._entries[name] for name in names)
        }
        large = [about for about in map(self._archive.getinfo, members) if _is_large(about)]
        in_threads(self._check, large)

    def _read(self, inside: str) -> Any:  # noqa: ANN401
        if inside not in self._flat:
            about = self._archive.getinfo(self._members[inside])
            if _is_large(about):
                self._flat[inside] = torch.from_numpy(self._bytes(about))
            else:
                # The archive compares the checksum.
                content = bytearray(self._archive.read(about))
                self._flat[inside] = torch.frombuffer(content, dtype=torch.uint8)
        return self._flat[inside]

    def _check(self, about: zipfile.ZipInfo) -> None:
        content, start, found = self._bytes(about).data, self._start(about), 0
        for at in range(0, len(content), _PIECE):
            piece = content[at : at + _PIECE]
            found = zlib.crc32(piece, found)
            self._release(start + at, len(piece))
        if found != about.CRC:
            raise zipfile.BadZipFile(f"another checksum than that of {about.filename!r}")

    def _release(self, start: int, size: int) -> None:
        """Nothing of this part of the file needs to stay in memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            first = start - start % mmap.PAGESIZE
            self._map.madvise(mmap.MADV_DONTNEED, first, start + size - first)

    def _bytes(self, about: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
        start = self._start(about)
        if about.compress_type != zipfile.ZIP_STORED or start % _ALIGNED:
            raise Unknown("weights that are compressed, or not aligned")
        if about.flag_bits & _ENCRYPTED or start + about.file_size > len(self._map):
            raise Unknown("weights that are encrypted, or cut off")
        return np.frombuffer(self._map, np.uint8, about.file_size, start)

    def _start(self, about: zipfile.ZipInfo) -> int:
        """Where the content of a member begins in the file."""
        lengths = self._map[about.header_offset + _LENGTHS : about.header_offset + _HEADER]
        name, extra = (int.from_bytes(lengths[at : at + 2], "little") for at in (0, 2))
        return about.header_offset + _HEADER + name + extra


def parsed(archive: zipfile.ZipFile, member: str, documents: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """What a member in JSON holds; read now unless ``documents`` has it."""
    return documents[member] if member in documents else read_json(archive.read(member))


def _is_large(about: zipfile.ZipInfo) -> bool:
    return about.file_size >= LARGE
