"""Weight files of Core ML: blobs of 64-byte headers and bytes, found by the offset of a header.

A file is untrusted: what a header states is compared with what the program declares and with the
size of the file before anything is read.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.kernels.packed_storage import decoded, stored_bytes

if TYPE_CHECKING:
    from isomorph.frameworks.coreml.program import Array, MilValue

SENTINEL = 0xDEADBEEF
HEADER = struct.Struct("<IIQQ")
"""Sentinel, type, size in bytes, and where in the file the bytes begin."""
_VERSION = 2
_TYPES = {
    1: "float16", 2: "float32", 3: "uint8", 4: "int8", 5: "bfloat16", 6: "int16", 7: "uint16",
    8: "int4", 9: "uint1", 10: "uint2", 11: "uint4", 12: "uint3", 13: "uint6", 14: "int32",
    15: "uint32", 16: "float8_e4m3fn", 17: "float8_e5m2",
}  # fmt: skip


class BlobFile:
    """One weight file, mapped; blobs are views of it."""

    def __init__(self, path: Path, file: str) -> None:
        self._file, self._name = file, path.name
        size = path.stat().st_size
        if size < 64:
            raise self._short(f"the file has {size} bytes, less than its header")
        with path.open("rb") as stream:
            self._view = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        version = struct.unpack_from("<I", self._view, 4)[0]
        if version != _VERSION:
            raise UnreadableModelError(
                "INVALID_GRAPH", f"the weight file is of version {version}, not {_VERSION}:",
                file=file, where=self._name,
            )  # fmt: skip

    def array(self, value: MilValue) -> Array:
        """The numbers of a value that refers to this file."""
        start, size = self.place(value)
        raw = np.frombuffer(self._view[start : start + size], np.uint8)
        return decoded(raw, str(value.type.dtype), sizes_of(value))

    def place(self, value: MilValue) -> tuple[int, int]:
        """Where the bytes of a value begin, and how many there are."""
        where, total = value.offset, len(self._view)
        if where % 64 or not 0 <= where <= total - HEADER.size:
            raise self._short(f"no blob begins at byte {where} of {total}")
        sentinel, kind, size, start = HEADER.unpack_from(self._view, where)
        if sentinel != SENTINEL:
            raise self._short(f"no blob begins at byte {where}")
        if not (0 <= start <= total and size <= total - start):
            raise self._short(f"a blob of {size} bytes at byte {start}, the file has {total}")
        declared = str(value.type.dtype)
        needed = stored_bytes(declared, sizes_of(value))
        if _TYPES.get(kind) not in {declared, _bytewise(declared)} or size != needed:
            found = _TYPES.get(kind, f"type {kind}")
            raise UnreadableModelError(
                "TENSOR_SIZE_MISMATCH",
                f"declared {needed} bytes of {declared}, got {size} bytes of {found}",
                file=self._file, where=f"byte {where} of {self._name}",
            )  # fmt: skip
        return start, size

    def _short(self, what: str) -> UnreadableModelError:
        return UnreadableModelError(
            "EXTERNAL_DATA_SHORT", what, file=self._file, where=self._name,
            fix="copy the whole package again",
        )  # fmt: skip


def sizes_of(value: MilValue) -> tuple[int, ...]:
    """The sizes of a stored value, which are all known."""
    return tuple(size or 0 for size in value.type.shape or ())


def _bytewise(dtype: str) -> str:
    return "uint8" if dtype == "bool" else dtype
