"""The .bin file beside a graph: found safely, mapped, and read constant by constant."""

from __future__ import annotations

import math
import os
import stat
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError, RefusedError, UnreadableModelError
from isomorph.kernels.packed_storage import decoded, stored_bytes
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.model_bytes import mapped as mapped_file

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.openvino.program import IrModel, Layer, Stored


def beside(path: Path) -> Path:
    """The file with the weights of a graph: the same name with another suffix."""
    return path.with_suffix(".bin")


def mapped(path: Path, *, trusted: bool) -> Any:  # noqa: ANN401
    """The bytes of the weights of the graph at ``path``; none where there is no such file.

    A link may lead anywhere, so it is followed only where the user trusts the model.
    """
    place = beside(path)
    try:
        status = os.lstat(place)
    except OSError:
        return b""
    if not trusted:
        if stat.S_ISLNK(status.st_mode):
            raise _escape(place, path, "it is a symbolic link")
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise _escape(place, path, "it is a hard link, and its other name may lie anywhere")
    return mapped_file(place, empty=b"")


def _escape(place: Path, path: Path, why: str) -> IsomorphError:
    return RefusedError(
        "EXTERNAL_DATA_ESCAPE",
        f"the weights {place.name!r} may lie outside the model's folder",
        file=str(path),
        why=why,
        fix="copy the file, or pass --trust if a package cache made the link",
    )


def check(stored: Stored, weights: Any, *, file: str, where: str) -> None:  # noqa: ANN401
    """Refuse a constant whose bytes do not fit its type and shape, or lie outside the file."""
    # OpenVINO writes one byte for a tensor without elements.
    held = stored.dtype == "string" or (0 in stored.shape and stored.size <= 1)
    if not held and stored.size != stored_bytes(stored.dtype, stored.shape):
        raise UnreadableModelError(
            "TENSOR_SIZE_MISMATCH",
            f"declared {stored_bytes(stored.dtype, stored.shape)} bytes, got {stored.size}",
            file=file,
            where=where,
            why=f"{stored.dtype}{list(stored.shape)} and the size of its data disagree",
            fix="convert the model again",
        )
    if stored.offset < 0 or stored.size < 0 or stored.offset + stored.size > len(weights):
        missing = "there is no such file" if not len(weights) else f"it has {len(weights)}"
        raise UnreadableModelError(
            "EXTERNAL_DATA_SHORT",
            f"expected {stored.size} bytes at offset {stored.offset} of the .bin file, {missing}",
            file=file,
            where=where,
            why="the weights lie in a file of the same name that ends in .bin",
            fix="put the .bin file beside the .xml file, both from the same conversion",
        )


def array_of(model: IrModel, layer: Layer) -> Array:
    """The values of a constant: a view of the file where its type has whole bytes."""
    stored = layer.stored
    assert stored is not None, "only constants are read"
    raw = np.frombuffer(model.weights, np.uint8, stored.size, stored.offset)
    return values_of(raw, stored)


def values_of(raw: Array, stored: Stored) -> Array:
    """The values that these bytes stand for."""
    if stored.dtype == "string":
        return _strings(raw.tobytes(), stored)
    target = numpy_dtype(stored.dtype)
    if 0 in stored.shape:
        return np.zeros(stored.shape, target)
    return decoded(raw, stored.dtype, stored.shape).astype(target, copy=False)


def _strings(raw: bytes, stored: Stored) -> Array:
    """A count, where each text begins and ends, and the texts one after the other."""
    try:
        count = math.prod(stored.shape)
        places = np.frombuffer(raw, "<i4", count + 2, 0)
        text = raw[4 * (count + 2) :]
        words = [text[a:b].decode() for a, b in pairwise(places[1:])]
    except (ValueError, UnicodeDecodeError) as error:
        raise UnreadableModelError(
            "INVALID_GRAPH", "a constant of text cannot be read", why=str(error)
        ) from error
    return np.asarray(words, object).reshape(stored.shape)
