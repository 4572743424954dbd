"""One node of an XNNPACK graph as a graph of its own, whose other ends its caller holds."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isomorph.frameworks.executorch.file_layout import FileLayout, Region
from isomorph.frameworks.executorch.program import PteNode
from isomorph.frameworks.executorch.xnnpack_graph import graph_parts, tensor_of, with_parts
from isomorph.frameworks.executorch.xnnpack_names import NODES
from isomorph.store.flatbuffer import Table
from isomorph.store.flatbuffer_writer import ALIGNMENT, append, pad, point

_INPUT, _OUTPUT = 1, 2
"""Flags of values that the caller of a graph holds."""
_NODES, _VALUES, _EXTERNALS, _INPUTS, _OUTPUTS, _CONSTANTS = 1, 2, 3, 4, 5, 8
"""Fields of a graph."""
_SCALES = {1: 2, 4: 4}
"""The field that numbers the stored scales, by the kind of a grid: channels or groups."""


@dataclass(frozen=True, slots=True)
class LoneNode:
    """The data of its delegate, the weights that it reads by name, and the sizes of its ends."""

    data: bytes
    named: tuple[str, ...]
    sizes: Mapping[str, tuple[int, ...]]


def node_alone(layout: FileLayout, region: Region, node: PteNode, fed: Sequence[str]) -> LoneNode:
    """The node with the tensors ``fed`` as its inputs; other tensors that it reads are stored."""
    start, end, stored_at = graph_parts(layout.data, region)
    root = layout.graph(start, end)
    entry = root.tables(_NODES)[int(node.name.rpartition(":")[2])]
    values = _values(root, entry, node)
    head = bytearray(layout.data[start:end])
    kept = []
    for name, (number, value) in values.items():
        ends = {each: (_INPUT, place) for place, each in enumerate(fed)}
        ends |= {each: (_OUTPUT, len(fed) + n) for n, each in enumerate(node.outputs)}
        new = append(head, _held(value, number, *ends[name])) if name in ends else value.place
        kept.append(new)
    for field, places in ((_NODES, [entry.place]), (_VALUES, kept)):
        first = root.start_of(field)
        struct.pack_into("<I", head, first - 4, len(places))
        for number, place in enumerate(places):
            point(head, first + 4 * number, place)
    struct.pack_into("<I", head, root.place_of(_EXTERNALS), len(fed) + len(node.outputs))
    for field, names in ((_INPUTS, fed), (_OUTPUTS, node.outputs)):
        listed = np.array([values[name][0] for name in names], np.uint32)
        point(head, root.place_of(field), append(head, listed))
    pad(head, ALIGNMENT)
    constants = root.tables(_CONSTANTS)
    names = [constants[index].text(2) for _, value in values.values() for index in _stored(value)]
    return LoneNode(
        data=with_parts(bytes(head), bytes(layout.data[stored_at : region[1]])),
        named=tuple(dict.fromkeys(name for name in names if name)),
        sizes={
            name: tuple(tensor_of(value).numbers(2, "u4").tolist())
            for name, (_, value) in values.items()
        },
    )


def _values(root: Table, entry: Table, node: PteNode) -> dict[str, tuple[int, Table]]:
    """What the node reads and writes, by our names: the number in the graph, and its table."""
    kind, table = entry.union(1)
    assert table is not None, "the node was read here"
    known = {tensor_of(each).integer(6, "I"): each for each in root.tables(_VALUES)}
    marks = [mark for mark, _ in NODES[kind][2]]
    read = [table.integer(n, "I") for n, mark in enumerate(marks) if mark == "<"]
    made = [table.integer(n, "I") for n, mark in enumerate(marks) if mark == ">"]
    pairs = [*zip(node.inputs, read, strict=False), *zip(node.outputs, made, strict=True)]
    return {name: (number, known[number]) for name, number in pairs if name}


def _stored(value: Table) -> list[int]:
    """The constants of a value: its numbers, and its scales."""
    found = [tensor_of(value).integer(3, "I")]
    kind, table = value.union(1)
    if kind == 2 and table is not None:
        quantizer, grid = table.union(2)
        if grid is not None and quantizer in _SCALES:
            found.append(grid.integer(_SCALES[quantizer], "I"))
    return [index for index in found if index]


def _held(value: Table, number: int, flag: int, place: int) -> Mapping[int, Any]:
    """A value of the graph as one that its caller holds, in this place among the arguments."""
    tensor = tensor_of(value)
    sizes = np.array(tensor.numbers(2, "u4"), np.uint32)
    plain = {
        0: ("h", tensor.integer(0, "h")), 1: ("I", sizes.size), 2: sizes,
        4: ("I", place), 5: ("I", flag), 6: ("I", number),
    }  # fmt: skip
    kind, table = value.union(1)
    if kind == 1 or table is None:
        return {0: ("B", 1), 1: plain}
    quantizer, grid = table.union(2)
    assert grid is not None, "a quantized value has a grid"
    scale = {0: ("f", grid.real(0, "f")), 1: ("i", grid.integer(1))}
    return {0: ("B", 2), 1: {0: plain, 1: ("B", quantizer), 2: scale}}
