"""Single nodes of a program as programs of their own: an instruction, or a node of a delegate."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isomorph.frameworks.executorch.file_layout import IDENTIFIER, FileLayout, Region
from isomorph.frameworks.executorch.plan_values import NUMBERS, Kind
from isomorph.frameworks.executorch.program import DTYPES, PteNode, PteProgram
from isomorph.frameworks.executorch.xnnpack_cut import node_alone
from isomorph.frameworks.executorch.xnnpack_graph import BACKEND
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.store.flatbuffer import Table
from isomorph.store.flatbuffer_writer import ALIGNMENT, append, pad, point

_PAGE = 4096
"""Where segments begin, as a writer of programs places them."""
_HEADER = struct.Struct("<4sIQQQ")
_TYPES = {dtype: number for number, dtype in reversed(DTYPES.items())}
_DELEGATE_CALL, _BOUNDED = 2, 1
_INPUTS, _OUTPUTS, _CHAINS, _DELEGATES = 3, 4, 5, 7
"""Fields of a plan."""


class Cutter:
    """Writes single nodes of one program."""

    def __init__(self, program: PteProgram) -> None:
        self._program = program
        self._data = memoryview(program.data)
        self._layout = FileLayout(self._data)
        self._plan = self._layout.root.tables(1)[program.methods.index(program.method)]
        self._chain = self._plan.tables(_CHAINS)[0]
        self._instructions = self._chain.tables(2)
        self._values, self._delegates = self._plan.tables(2), self._plan.tables(_DELEGATES)
        described = [each.union(1) for each in self._values]
        self._constants = {
            index: table.integer(5, "I")
            for index, (kind, table) in enumerate(described)
            if kind == Kind.TENSOR and table is not None and table.integer(5, "I")
        }

    @property
    def complete(self) -> bool:
        """Whether every node can be cut out.

        The scales of a dynamically quantized tensor exist in XNNPACK alone, so it neither enters
        nor leaves a delegate.
        """
        ends = [self._plan.where(field) for field in (_INPUTS, _OUTPUTS)]
        return None not in ends and not any(each.dynamic for each in self._program.tensors.values())

    def is_number(self, name: str) -> bool:
        """Whether a name stands for a plain number, which a run computes from sizes."""
        index = self._program.indices.get(name)
        return index is not None and self._values[index].integer(0, "B") in NUMBERS

    def is_entered(self, node: PteNode, name: str) -> bool:
        """Whether a node is given a tensor: one that is computed, or that its delegate is given."""
        stored = self._program.tensors[name].data is not None
        return not stored or (
            node.native_op.startswith("xnnpack.") and name in self._program.indices
        )

    def node(self, node: PteNode, fed: Sequence[str], numbers: Mapping[str, Any]) -> bytes:
        """The program of one node, from the tensors ``fed`` to its outputs.

        ``numbers`` are what it reads and is no tensor: a program accepts only the numbers that it
        was written with.
        """
        if node.native_op.startswith("xnnpack."):
            return self._lowered(node, fed)
        head = bytearray(self._data[: self._layout.end])
        indices, values = self._program.indices, self._values
        for field, names in ((_INPUTS, fed), (_OUTPUTS, node.outputs)):
            listed = np.array([indices[name] for name in names], np.int32)
            point(head, self._plan.place_of(field), append(head, listed))
        first = self._chain.start_of(2)
        point(head, first, self._instructions[node.instruction].place)
        struct.pack_into("<I", head, first - 4, 1)
        if self._delegates:
            struct.pack_into("<I", head, self._plan.start_of(_DELEGATES) - 4, 0)
        for name, number in numbers.items():
            kind, _ = values[indices[name]].union(1)
            given = append(head, {0: (NUMBERS[kind], number)})
            point(head, values[indices[name]].place_of(1), given)
        return _with_segments(head, self._read_constants(head, node))

    def _read_constants(self, head: bytearray, node: PteNode) -> memoryview | bytearray:
        """The segments of a cut: the constants of the node alone, where it begins with no state."""
        tensors = [self._program.tensors[name] for name in dict.fromkeys(node.inputs) if name]
        read = [tensor for tensor in tensors if tensor.data is not None]
        root = self._layout.root
        place = root.table(5)
        if place is None or any(tensor.mutable for tensor in read):
            return self._data[self._layout.base :]
        held = bytearray()
        entries = dict(self._constants)
        for tensor in read:
            pad(held, ALIGNMENT)
            entry = place.start_of(1) + 8 * entries.pop(self._program.indices[tensor.name])
            struct.pack_into("<Q", head, entry, len(held))
            held += tensor.data or b""
        for index in entries:
            head[self._values[index].place_of(0)] = Kind.NULL
        segment = root.tables(4)[place.integer(0, "I")]
        for field, number in ((0, 0), (1, len(held))):
            if (where := segment.where(field)) is not None:
                struct.pack_into("<Q", head, where, number)
        return held

    def _lowered(self, node: PteNode, fed: Sequence[str]) -> bytes:
        """A program that calls a delegate of one node."""
        graph = node_alone(self._layout, self._region(node.instruction), node, fed)
        bounds, segments = [], bytearray()
        for key in graph.named:
            start, end = self._layout.named(key)
            pad(segments, ALIGNMENT)
            bounds.append({0: ("Q", len(segments)), 1: ("Q", end - start)})
            segments += self._data[start:end]
        ends = 0
        values: list[Mapping[int, Any]] = []
        for name in (*fed, *node.outputs):
            tensor = self._program.tensors[name]
            known = tuple(size for size in tensor.shape if size is not None)
            sizes = known if len(known) == len(tensor.shape) else graph.sizes[name]
            values.append(_planned(tensor.dtype, sizes, ends))
            count = int(np.prod(sizes, dtype=np.int64))
            ends += -(-count * numpy_dtype(tensor.dtype).itemsize // ALIGNMENT) * ALIGNMENT
        places = np.arange(len(values), dtype=np.int32)
        call = {0: ("i", 0), 1: places}
        plan = {
            0: self._program.method,
            2: values,
            _INPUTS: places[: len(fed)],
            _OUTPUTS: places[len(fed) :],
            _CHAINS: [{2: [{0: ("B", _DELEGATE_CALL), 1: call}]}],
            6: [],
            _DELEGATES: [{0: BACKEND, 1: {0: ("b", 0), 1: ("I", 0)}, 2: []}],
            8: np.array([0, ends], np.int64),
        }
        keys: list[Mapping[int, Any]] = [
            {0: key, 1: ("I", place)} for place, key in enumerate(graph.named)
        ]
        head = bytearray(bytes(4) + IDENTIFIER + _HEADER.pack(b"eh00", _HEADER.size, 0, 0, 0))
        # Without a place of constants the runtime takes it for a program of an earlier format.
        none = {0: ("I", 0), 1: np.zeros(1, np.uint64)}
        root = append(head, {1: [plan], 3: [{0: graph.data}], 4: bounds, 5: none, 7: keys})
        struct.pack_into("<I", head, 0, root)
        return _with_segments(head, segments)

    def _region(self, instruction: int) -> Region:
        """The data of the delegate that an instruction calls."""
        call = _present(self._instructions[instruction].union(1)[1])
        return self._layout.delegate(_present(self._delegates[call.integer(0)].table(1)))


def _present(table: Table | None) -> Table:
    assert table is not None, "the program was read with it"
    return table


def _planned(dtype: str, sizes: Sequence[int], at: int) -> Mapping[int, Any]:
    """A tensor of these sizes or smaller, at a place of the planned memory."""
    tensor = {
        0: ("b", _TYPES[dtype]),
        2: np.array(sizes, np.int32),
        3: np.arange(len(sizes), dtype=np.uint8),
        6: {0: ("I", 1), 1: ("I", at & 0xFFFFFFFF), 2: ("I", at >> 32)},
        8: ("b", _BOUNDED),
    }
    return {0: ("B", int(Kind.TENSOR)), 1: tensor}


def _with_segments(head: bytearray, segments: memoryview | bytearray) -> bytes:
    """A file of this flatbuffer and these segments; one without a header has none."""
    size = len(head)
    magic, length, *_ = _HEADER.unpack_from(head, 8)
    if magic != b"eh00":
        return bytes(head)
    pad(head, _PAGE)
    plain = _HEADER.pack(magic, length, size, len(head) if len(segments) else 0, len(segments))
    head[8 : 8 + min(length, _HEADER.size)] = plain[: min(length, _HEADER.size)]
    return bytes(head) + bytes(segments)
