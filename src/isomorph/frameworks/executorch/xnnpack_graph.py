"""The graph inside an XNNPACK delegate: a flatbuffer of its own, whose nodes become ours."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isomorph.frameworks.executorch.file_layout import FileLayout, Region
from isomorph.frameworks.executorch.program import PteNode, PteTensor, ReadGraph
from isomorph.frameworks.executorch.xnnpack_names import NODES
from isomorph.kernels.tflite.quantized import Grid
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.flatbuffer import DamagedFlatbufferError, Table

BACKEND = "XnnpackBackend"
_MAGIC = b"XH00"
_HEADER = struct.Struct("<4sHIIIQ")
_HEADER_AT = 4
_ABSENT = 0xFFFFFFFF
_UNSET = (1 << 64) - 1
_DTYPES = {
    1: "float32", 2: "float16", 3: "int8", 4: "uint8", 5: "int32", 6: "int8", 7: "int32",
    8: "int8", 9: "float32", 10: "int8", 11: "float32", 12: "int32", 13: "float32", 14: "bfloat16",
}  # fmt: skip
_FOUR_BITS = frozenset({8, 10})
DYNAMIC = frozenset({9, 11})
"""Types whose scale a run computes from the values of each row; held as the real numbers."""
_PER_CHANNEL, _PER_TENSOR, _PER_TOKEN, _PER_GROUP = 1, 2, 3, 4
_MAX_ELEMENTS = 1 << 59
_ENDS = ("<", ">")
"""The marks of fields that are tensors."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """How a delegate reads and writes values of the program, by their places in its arguments."""

    read: Callable[[int], str]
    written: Callable[[int], str]
    count: int


class DelegateReader:
    """The graph in a region of the file, called by an instruction, which adds to what was read."""

    def __init__(
        self, layout: FileLayout, region: Region, place: int, boundary: Boundary, read: ReadGraph
    ) -> None:
        self._layout, self._region, self._boundary, self._made = layout, region, boundary, read
        self._instruction, self._prefix = place, f"xnnpack_{place}/"
        self._start, self._end, self._stored_at = graph_parts(layout.data, region)
        self._root = layout.graph(self._start, self._end)
        self._data = self._root.tables(8)
        self._tensors = read.tensors
        self._names: dict[int, str] = {}
        self._values: dict[int, Table] = {}
        self._outer: dict[int, str] = {}

    def read(self) -> None:
        """Its nodes in order, the tensors inside it, and where its attributes lie."""
        for value in self._root.tables(2):
            tensor = tensor_of(value)
            self._values[tensor.integer(6, "I")] = value
        inputs = sorted(self._root.numbers(4, "u4").tolist(), key=self._argument)
        outputs = sorted(self._root.numbers(5, "u4").tolist(), key=self._argument)
        if len(inputs) + len(outputs) != self._boundary.count:
            raise DamagedFlatbufferError(
                f"a delegate with {len(inputs)} inputs and {len(outputs)} outputs is called "
                f"with {self._boundary.count} values"
            )
        for place, number in enumerate(inputs):
            self._names[number] = self._entered(place, number)
        outside = {
            number: self._boundary.written(place)
            for place, number in enumerate(outputs, start=len(inputs))
        }
        self._outer = {
            number: name
            for number, name in outside.items()
            if number not in self._names and _is_plain(self._tensors[name].order)
        }
        for place, node in enumerate(self._root.tables(1)):
            self._node(place, node)
        for number, name in outside.items():
            self._left(number, name)

    def _argument(self, number: int) -> int:
        """The place of a value among those that the delegate is called with."""
        value = self._values.get(number)
        return -1 if value is None else tensor_of(value).integer(4, "I")

    def _entered(self, place: int, number: int) -> str:
        """An input as XNNPACK sees it: in the order in which its axes lie in memory."""
        outer = self._boundary.read(place)
        order = self._tensors[outer].order
        grid = self._grid(self._values[number], outer) if number in self._values else None
        if _is_plain(order) and grid is None:
            return outer
        inner = self._defined(number)
        self._laid(f"input:{place}", outer, inner, order)
        return inner

    def _left(self, number: int, outer: str) -> None:
        """An output of the delegate that no node has written under the program's name."""
        inner = self._read(number)
        if inner != outer:
            back = tuple(np.argsort(self._tensors[outer].order).tolist())
            self._laid(f"output:{number}", inner, outer, back)

    def _node(self, place: int, node: Table) -> None:
        kind, table = node.union(1)
        row = NODES.get(kind)
        if row is None or table is None:
            raise DamagedFlatbufferError(
                f"node {place} of a delegate is of the unknown kind {kind}"
            )
        word, op, fields = row
        name = f"{self._prefix}{word.removeprefix('XNN')}:{place}"
        numbered = [(table.integer(n, "I"), mark) for n, (mark, _) in enumerate(fields)]
        inputs = [
            "" if number == _ABSENT else self._read(number)
            for number, mark in numbered if mark == "<"
        ]  # fmt: skip
        outputs = [self._defined(number) for number, mark in numbered if mark == ">"]
        stated = [(table, n, *field) for n, field in enumerate(fields) if field[0] not in _ENDS]
        if (clamp := node.table(3)) is not None:
            stated += [(clamp, 0, "~", "min"), (clamp, 1, "~", "max")]
        attributes: dict[str, Any] = {}
        for held, index, mark, label in stated:
            if mark == "*":
                value = attributes[label] = tuple(held.numbers(index, "u4").tolist())
                first = held.start_of(index)
                self._remember(name, label, [("I", first + 4 * n) for n in range(len(value))])
            else:
                read, form = (held.real, "f") if mark == "~" else (held.integer, "I")
                attributes[label] = read(index, form)
                self._remember(name, label, [(form, held.where(index))])
        while inputs and not inputs[-1]:
            inputs.pop()
        if word == "XNNConvert":
            op = self._conversion(inputs[0], outputs[0])
        self._add(
            name=name, op=op, native_op=f"xnnpack.{word}", inputs=tuple(inputs),
            outputs=tuple(outputs), attributes=attributes, handle=node.integer(2, "I"),
        )  # fmt: skip

    def _add(self, **stated: Any) -> None:  # noqa: ANN401
        self._made.nodes.append(PteNode(instruction=self._instruction, **stated))

    def _laid(self, word: str, given: str, made: str, order: tuple[int, ...]) -> None:
        """A node where a tensor enters or leaves: its axes in another order, or its own grid."""
        plain = _is_plain(order)
        self._add(
            name=f"{self._prefix}{word}",
            op="Identity" if plain else "Transpose",
            native_op="xnnpack.Boundary" if plain else "xnnpack.Layout",
            inputs=(given,),
            outputs=(made,),
            attributes={} if plain else {"perm": order},
        )

    def _conversion(self, given: str, made: str) -> str:
        """What a conversion is: onto a grid, off it, or to another type."""
        if self._tensors[made].grid is not None or self._tensors[made].dynamic:
            return "QuantizeLinear"
        held = self._tensors.get(given)
        return "Cast" if held is None or held.grid is None else "DequantizeLinear"

    def _remember(self, node: str, label: str, found: Sequence[tuple[str, int | None]]) -> None:
        places = tuple((form, self._start + at) for form, at in found if at is not None)
        if found and len(places) == len(found):
            self._made.places[node, label] = places

    def _read(self, number: int) -> str:
        if number in self._names:
            return self._names[number]
        value = self._values.get(number)
        if value is None or not tensor_of(value).integer(3, "I"):
            raise DamagedFlatbufferError(f"a node of a delegate reads value {number}, not computed")
        return self._defined(number)

    def _defined(self, number: int) -> str:
        if number not in self._values or number in self._names:
            raise DamagedFlatbufferError(f"a delegate writes value {number} twice, or has none")
        value = self._values[number]
        if number in self._outer:
            name = self._names[number] = self._outer[number]
            self._tensors[name] = replace(self._tensors[name], grid=self._grid(value, name))
            return name
        name = f"{self._prefix}value_{number}"
        tensor = tensor_of(value)
        datatype = tensor.integer(0, "h")
        dtype = _DTYPES.get(datatype)
        if dtype is None:
            raise DamagedFlatbufferError(f"{name} is of the unknown type {datatype}")
        dims = tuple(tensor.numbers(2, "u4").tolist())
        if math.prod(max(size, 1) for size in dims) >= _MAX_ELEMENTS:
            raise DamagedFlatbufferError(f"no memory can hold the shape {list(dims)}")
        bits = 4 if datatype in _FOUR_BITS else 8
        stored = tensor.integer(3, "I")
        region = None
        if stored:
            row = -(-dims[-1] // 2) if bits == 4 and dims else 0
            size = (
                math.prod(dims[:-1]) * row
                if row
                else (math.prod(dims) * numpy_dtype(dtype).itemsize)
            )
            region = self._constant(stored, size)
        self._tensors[name] = PteTensor(
            name=name,
            dtype=dtype,
            shape=dims,
            data=None if region is None else self._layout.data[region[0] : region[1]],
            grid=self._grid(value, name),
            bits=bits,
            offset=None if region is None else region[0],
            dynamic=datatype in DYNAMIC,
        )
        self._names[number] = name
        return name

    def _constant(self, index: int, size: int) -> Region:
        if not 0 < index < len(self._data):
            raise DamagedFlatbufferError(f"a delegate names constant {index} of {len(self._data)}")
        entry = self._data[index]
        key = entry.text(2)
        start, end = self._layout.named(key) if key else (self._stored_at, self._region[1])
        offset = 0 if key else entry.integer(0, "Q", _UNSET)
        if start + offset + size > end:
            raise DamagedFlatbufferError(f"constant {index} of a delegate is cut short")
        return start + offset, start + offset + size

    def _grid(self, value: Table, name: str) -> Grid | None:
        """What the integers of a tensor stand for; None for floats and for dynamic scales."""
        kind, _ = value.union(1)
        table = value.table(1)
        if kind != 2 or table is None:
            return None
        quantizer, given = table.union(2)
        if given is None or quantizer == _PER_TOKEN:
            return None
        datatype = tensor_of(value).integer(0, "h")
        dtype = "int4" if datatype in _FOUR_BITS else _DTYPES.get(datatype, "int8")
        if quantizer == _PER_TENSOR:
            self._remember(name, "scale", [("f", given.where(0))])
            self._remember(name, "zero_point", [("i", given.where(1))])
            scale, zero = given.real(0, "f"), given.integer(1)
            return Grid(dtype=dtype, scale=np.asarray(scale), zero_point=np.asarray(zero, float))
        dims = tensor_of(value).numbers(2, "u4").tolist()
        axis = given.integer(1)
        if not 0 <= axis < len(dims):
            raise DamagedFlatbufferError(f"{name} is quantized along axis {axis} of {len(dims)}")
        if quantizer == _PER_CHANNEL:
            scale = self._scales(given, 2, 3, "float32")
            if given.integer(2, "I"):
                start = self._constant(given.integer(2, "I"), 4 * scale.size)[0] - self._start
                lying = [("f", start + 4 * place) for place in range(scale.size)]
                self._remember(name, "scale", lying)
            if scale.size != dims[axis]:
                raise DamagedFlatbufferError(f"{name} has {scale.size} scales for {dims[axis]}")
            return Grid(dtype=dtype, scale=scale, zero_point=np.zeros(scale.shape), axis=axis)
        block = given.integer(2)
        scale = self._scales(given, 4, 5, "bfloat16")
        count = -(-dims[-1] // block) if block > 0 else 0
        if len(dims) != 2 or scale.size != dims[0] * count:
            raise DamagedFlatbufferError(f"{name} has {scale.size} scales for groups of {block}")
        scale = scale.reshape(dims[0], count)
        return Grid(dtype=dtype, scale=scale, zero_point=np.zeros(()), axis=1, block=block)

    def _scales(self, given: Table, place: int, count: int, dtype: str) -> Any:  # noqa: ANN401
        index = given.integer(place, "I")
        number = given.integer(count, "I")
        if not index:
            return given.numbers(0, "f4").astype(np.float64)
        kind = numpy_dtype(dtype)
        region = self._constant(index, number * kind.itemsize)
        return np.frombuffer(self._layout.data[region[0] : region[1]], kind).astype(np.float64)


def tensor_of(value: Table) -> Table:
    """The plain description of a value, which a quantized one wraps."""
    kind, table = value.union(1)
    inner = table.table(0) if kind == 2 and table is not None else table
    if inner is None or kind not in (1, 2):
        raise DamagedFlatbufferError("a value of a delegate is no tensor")
    return inner


def _is_plain(order: tuple[int, ...]) -> bool:
    return order == tuple(range(len(order)))


def graph_parts(data: memoryview, region: Region) -> tuple[int, int, int]:
    """Where the flatbuffer of a delegate begins and ends, and where its constants begin."""
    start, end = region
    at = start + _HEADER_AT
    if end - start < _HEADER_AT + _HEADER.size or data[at : at + 4] != _MAGIC:
        raise DamagedFlatbufferError("the data of an XNNPACK delegate does not begin as such")
    _, _, offset, size, constants, _ = _HEADER.unpack_from(data, at)
    if start + offset + size > end or start + constants > end:
        raise DamagedFlatbufferError("the data of an XNNPACK delegate is cut short")
    return start + offset, start + offset + size, start + constants


def with_parts(graph: bytes, constants: bytes) -> bytes:
    """The data of a delegate from its flatbuffer and its constants."""
    start = -(-(_HEADER_AT + _HEADER.size) // 16) * 16
    header = _HEADER.pack(
        _MAGIC, _HEADER_AT + _HEADER.size, start, len(graph), start + len(graph), len(constants)
    )
    return (bytes(_HEADER_AT) + header).ljust(start, b"\0") + graph + constants
