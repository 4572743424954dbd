"""A graph as a diff walks it: makers, readers, what is constant, and an order of its own."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.ops import KEEPS_NUMBERS
from isomorph.match.quantizers import float_operator
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node

Maker = tuple[int, int]
"""The place of a node, and which of its outputs a tensor is."""

COMMUTES = frozenset({"Add", "Mul", "And", "Or", "Xor", "Max", "Min", "Equal"})
"""Operators whose operands have no order."""


class LinkedGraph:
    """The nodes of a graph by their place in it, with every edge computed once."""

    def __init__(self, graph: Graph, ends: Sequence[str] = ()) -> None:
        """``ends`` are its outputs in the order in which they are bound to the other graph's."""
        self.graph, self.nodes = graph, graph.nodes
        self.topology = Topology(graph)
        self.maker: dict[str, Maker] = {
            name: (place, slot)
            for place, node in enumerate(graph.nodes)
            for slot, name in enumerate(node.outputs)
            if name
        }
        self.reads = [self.topology.reads(node) for node in graph.nodes]
        self.readers: dict[str, list[int]] = {}
        for place, names in enumerate(self.reads):
            for name in dict.fromkeys(names):
                self.readers.setdefault(name, []).append(place)
        self._ends = ends or tuple(spec.name for spec in graph.outputs)
        self.ops = [operator_of(node.op) for node in graph.nodes]

    @cached_property
    def live_reads(self) -> list[tuple[str, ...]]:
        """What each node reads that depends on an input, in the order of its operands."""
        live = self.topology.live
        return [tuple(name for name in names if name in live) for names in self.reads]

    @cached_property
    def is_live(self) -> list[bool]:
        """Whether each node computes something that is no constant."""
        live = self.topology.live
        return [any(name in live for name in node.outputs) for node in self.nodes]

    @cached_property
    def order(self) -> list[int]:
        """The places of all nodes, each after what it reads, followed from the outputs.

        It depends on the edges alone, so that two files of one graph have one order.
        """
        done = [False] * len(self.nodes)
        found: list[int] = []
        starts = (self.maker[name][0] for name in self._ends if name in self.maker)
        for start in (*starts, *range(len(self.nodes))):
            stack: list[tuple[int, Iterator[int]]] = []
            if not done[start]:
                done[start] = True
                stack.append((start, self._sources(start)))
            while stack:
                place, sources = stack[-1]
                below = next((each for each in sources if not done[each]), None)
                if below is None:
                    found.append(place)
                    stack.pop()
                else:
                    done[below] = True
                    stack.append((below, self._sources(below)))
        return found

    def _sources(self, place: int) -> Iterator[int]:
        return (self.maker[name][0] for name in self.reads[place] if name in self.maker)

    def consumers(self, place: int) -> Iterator[int]:
        """The nodes that read an output of this one."""
        for name in self.nodes[place].outputs:
            yield from self.readers.get(name, ())

    def producers(self, place: int) -> Iterator[int]:
        """The nodes whose outputs this one reads."""
        return self._sources(place)

    def shape(self, tensor: str) -> tuple[object, ...] | None:
        """The declared shape of a tensor."""
        spec = self.graph.tensors.get(tensor)
        return None if spec is None else spec.shape

    @cached_property
    def _stated(self) -> dict[str, Constant]:
        """Constants that a node states as its attribute, by its output."""
        found: dict[str, Constant] = {}
        for node in self.nodes:
            value = node.attributes.get("value") if node.op == "Constant" else None
            array = value if isinstance(value, np.ndarray) else _array(value)
            if array is not None and len(node.outputs) == 1:
                found[node.outputs[0]] = constant_of(node.outputs[0], array)
        return found

    @cached_property
    def _classes(self) -> dict[str, Hashable]:
        """What each constant tensor holds, whatever the arrangement of its elements."""
        found: dict[str, Hashable] = {
            name: (each.value_digest, math.prod(each.shape))
            for name, each in (*self._stated.items(), *self.graph.constants.items())
        }
        for place, node in enumerate(self.nodes):
            if self.is_live[place]:
                continue
            operands = [found.get(name) for name in self.reads[place]]
            if any(name in self._stated for name in node.outputs):
                continue
            for slot, name in enumerate(node.outputs):
                if node.op in KEEPS_NUMBERS and len(operands) >= 1:
                    found[name] = operands[0]
                else:
                    # The hash of a nested tuple costs as much as the whole history of the tensor.
                    found[name] = hash((node.op, tuple(operands), slot))
        return found

    @cached_property
    def constants(self) -> list[tuple[str, ...]]:
        """The constant tensors that each node reads: stored, or computed from stored ones."""
        live = self.topology.live
        return [tuple(name for name in names if name not in live) for names in self.reads]

    def class_of(self, tensor: str) -> Hashable:
        """What identifies the elements of a constant tensor, in any order."""
        return self._classes.get(tensor)

    @cached_property
    def const_classes(self) -> list[tuple[Hashable, ...]]:
        """The constants of each node, sorted so that no order of operands matters."""
        return [self._sorted(names) for names in self.constants]

    @cached_property
    def weight_classes(self) -> list[tuple[Hashable, ...]]:
        """The same of constants that every framework stores: floats of several elements."""
        return [
            self._sorted([name for name in names if self.is_weight(name)])
            for names in self.constants
        ]

    def _sorted(self, names: Sequence[str]) -> tuple[Hashable, ...]:
        return tuple(sorted((self._classes.get(name) for name in names), key=repr))

    def is_weight(self, name: str) -> bool:
        """Whether a constant holds several floats; shapes, axes and numbers may be attributes."""
        stored = self.graph.constants.get(name) or self._stated.get(name)
        if stored is None:
            return name in self.maker and name not in self.topology.live
        return "float" in stored.dtype and math.prod(stored.shape) > 1

    def sizes(self, place: int) -> tuple[int, ...]:
        """The numbers of elements of the weights of a node, sorted."""
        found = (self.stored(name) for name in self.constants[place] if self.is_weight(name))
        return tuple(sorted(math.prod(each.shape) for each in found if each is not None))

    def stored(self, name: str) -> Constant | None:
        """The stored constant behind a tensor, through nodes that keep its numbers."""
        for _ in range(len(self.nodes)):
            constant = self.graph.constants.get(name) or self._stated.get(name)
            if constant is not None or name not in self.maker:
                return constant
            node: Node = self.nodes[self.maker[name][0]]
            if node.op not in KEEPS_NUMBERS or not node.inputs:
                return None
            name = node.inputs[0]
        return None


def operator_of(op: str) -> str:
    """What an operator is compared by: that of floats for one of integers, in one spelling.

    Without a neutral name, ``STRIDED_SLICE`` of one framework is ``StridedSlice`` of another.
    """
    if op.isupper():
        op = "".join(word.capitalize() for word in op.split("_"))
    return float_operator(op)


def _array(value: object) -> np.ndarray[Any, Any] | None:
    """The array that an attribute describes by type, shape and all of its values."""
    if not isinstance(value, Mapping) or not {"dtype", "shape", "values"} <= value.keys():
        return None
    if len(value["values"]) != math.prod(value["shape"]) or value["dtype"] not in np.sctypeDict:
        return None
    return np.asarray(value["values"], value["dtype"]).reshape(value["shape"])
