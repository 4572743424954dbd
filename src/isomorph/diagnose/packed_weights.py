"""Weights in blocks of few bits that are no rounding of the reference's, and how they would be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.diagnose import node_constants
from isomorph.match.blocked_weights import BlockedWeight, blocked_in
from isomorph.match.misread_weights import misread
from isomorph.match.packed_readers import packed_readers
from isomorph.match.stored_weights import StoredWeight
from isomorph.match.topology import Topology
from isomorph.match.value_match import weight_arrangements
from isomorph.match.weight_readings import Reading

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class MisreadNode:
    """A node of the fault, and how the packed weights behind it are read."""

    node: Node
    reading: Reading


def misread_weights(context: FaultContext) -> Iterator[MisreadNode]:
    """The first reading of each weight that makes it a rounding of the reference's.

    Nothing is yielded for weights that are right as they are read.
    """
    for node, reader in _readers(context):
        for blocked in blocked_in(_Constants(context, context.candidate), reader):
            found = misread(blocked, list(_expected(context, blocked)))
            # A weight with a scale for each channel may have had others worked into it.
            if found is not None and (found.right is not None or not blocked.stated):
                yield MisreadNode(node=node, reading=found)


def _readers(context: FaultContext) -> Iterator[tuple[Node, Node]]:
    """Every node of the fault with each node that unpacks a weight for it, itself included."""
    graph = context.candidate
    packed = packed_readers(graph)
    makers = {name: node for node in graph.nodes for name in node.outputs}
    for node in context.nodes:
        open_ends, seen = [node.name], set()
        named = {node.name: node}
        while open_ends:
            name = open_ends.pop()
            if name in seen:
                continue
            seen.add(name)
            # A node may be declared as what it stands for with real numbers.
            if name in packed or named[name].native_op.endswith(_UNPACKS):
                yield node, named[name]
            for read in Topology.reads(named[name]):
                maker = makers.get(read)
                if maker is not None and node_constants.fixed(graph, read):
                    named[maker.name] = maker
                    open_ends.append(maker.name)


_UNPACKS = ("MatMulNBits", "GatherBlockQuantized", "DequantizeLinear", "dequantize_affine.default")


@dataclass(frozen=True, slots=True)
class _Constants:
    """The stored tensors of a graph, as decoders of packed weights read them."""

    context: FaultContext
    graph: Graph
    useful: frozenset[str] = field(default=frozenset())

    def stored_array(self, name: str) -> Array | None:
        return self.context.constant(self.graph, name)

    value = stored_array

    def constant(self, name: str) -> StoredWeight | None:
        each = self.graph.constants[name]
        return StoredWeight(
            name=name, dtype=each.dtype, shape=each.shape, digest=each.digest,
            value_digest=each.value_digest, readers=(),
        )  # fmt: skip


def _expected(context: FaultContext, blocked: BlockedWeight) -> Iterator[Array]:
    """The reference's weights of that size, in every order of their axes."""
    for name in node_constants.floats(context.reference, context.counterparts):
        value = context.constant(context.reference, name)
        if value is not None and value.ndim > 1 and value.size == blocked.integers.size:
            yield from weight_arrangements(np.asarray(value, np.float64), blocked.integers.shape)
