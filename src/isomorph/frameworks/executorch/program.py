"""An ExecuTorch program as plain nouns: tensors, nodes in order, delegates opened."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isomorph.kernels.packed_storage import decoded
from isomorph.kernels.tflite.quantized import Grid
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array

DTYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 11: "bool", 12: "int8", 13: "uint8", 14: "int32", 15: "bfloat16",
    23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz",
    27: "uint16", 28: "uint32", 29: "uint64",
}  # fmt: skip
"""The types of elements, by PyTorch's number."""

Places = tuple[tuple[str, int], ...]
"""Where the numbers or the word of an attribute lie in the file, as ``struct`` names their type."""


@dataclass(frozen=True, slots=True)
class Slot:
    """In the place of an attribute: the number in this input of the node."""

    index: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PteTensor:
    """What one tensor declares, and the bytes of its constant.

    ``shape`` has None where an axis is dynamic. ``order`` are the axes from the outermost in
    memory to the innermost. ``bits`` is 4 where two integers share a byte. ``offset`` is where
    its bytes begin in the file. ``mutable``: it is a state that a run begins with. ``dynamic``:
    each row gets a scale of its own in every run.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    data: memoryview | None = None
    order: tuple[int, ...] = ()
    grid: Grid | None = None
    bits: int = 8
    offset: int | None = None
    mutable: bool = False
    dynamic: bool = False

    def array(self) -> Array | None:
        """The stored values; None for what is computed."""
        if self.data is None:
            return None
        sizes = tuple(size or 0 for size in self.shape)
        if self.bits == 4:
            return _nibbles(self.data, sizes)
        flat = np.frombuffer(self.data, numpy_dtype(self.dtype), math.prod(sizes))
        order = self.order or tuple(range(len(sizes)))
        stored = flat.reshape([sizes[axis] for axis in order])
        return np.transpose(stored, np.argsort(order)) if order else stored


@dataclass(frozen=True, slots=True, kw_only=True)
class PteNode:
    """One instruction, or one node of a delegate.

    ``native_op`` is ``aten.add.out`` or ``xnnpack.XNNAdd``. An absent optional input is an
    empty string. ``handle`` is the place of an XNNPACK node in the graph before it was lowered.
    """

    name: str
    op: str
    native_op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    instruction: int = -1
    handle: int | None = None


class ReadGraph:
    """What has been read of a method so far, and where its numbers lie; delegates add to it."""

    def __init__(self) -> None:
        self.tensors: dict[str, PteTensor] = {}
        self.nodes: list[PteNode] = []
        self.places: dict[tuple[str, str], Places] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PteProgram:
    """What ``Model.native`` holds for ExecuTorch: one method of a file.

    ``places`` are where the numbers of attributes lie in the file, by node and attribute, with the
    struct letters of their types: a patch writes there. ``given`` are inputs that are plain
    numbers, by place. ``indices`` are the values of the plan that hold tensors, by their names.
    """

    method: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[PteNode, ...]
    tensors: Mapping[str, PteTensor]
    delegates: tuple[str, ...] = ()
    places: Mapping[tuple[str, str], Places] = field(default_factory=dict)
    given: Mapping[int, Any] = field(default_factory=dict)
    indices: Mapping[str, int] = field(default_factory=dict)
    data: Any = b""
    digest: str = ""
    methods: tuple[str, ...] = ()
    version: int = 0
    path: Path | None = None


def _nibbles(data: memoryview, sizes: tuple[int, ...]) -> Array:
    """Two integers of 4 bits per byte, the first in the low bits, around 8; rows are padded."""
    padded = (*sizes[:-1], sizes[-1] + sizes[-1] % 2)
    fields = decoded(np.frombuffer(data, np.uint8), "uint4", padded)
    return (fields.astype(np.int8) - 8)[..., : sizes[-1]]
