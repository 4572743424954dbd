"""The nodes of a graph as they are described and evaluated: one for each layer that computes.

Weights stored as integers become numbers by a chain of Convert, Subtract and Multiply. That chain
is one node, a DequantizeLinear, whose result is that of the Multiply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.frameworks.openvino.op_table import attributes_of, neutral

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import IrGraph, Layer, Port

INTEGERS = frozenset({"int4", "uint4", "int8", "uint8"})
"""The types in which weights are stored that a chain turns into numbers."""
DEQUANTIZE = "DequantizeLinear"


@dataclass(frozen=True, slots=True, kw_only=True)
class IrNode:
    """One operation; ``layer`` is the one that gives its result."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[Port, ...]
    attributes: Mapping[str, Any]
    layer: Layer

    @property
    def dequantizes(self) -> bool:
        """Whether it stands for a chain that turns stored integers into numbers."""
        return self.op == DEQUANTIZE


def nodes_of(graph: IrGraph) -> tuple[IrNode, ...]:
    """The nodes in order; no two have one name."""
    found = _Chains(graph)
    counts: Counter[str] = Counter()
    nodes = []
    for layer in graph.layers:
        if layer.type in {"Parameter", "Const", "Result"} or layer.id in found.absorbed:
            continue
        counts[layer.name] += 1
        name = layer.name if counts[layer.name] == 1 else f"{layer.name}#{layer.id}"
        nodes.append(found.node(layer, name))
    return tuple(nodes)


class _Chains:
    """The chains of a graph, and the layers that are parts of them alone."""

    def __init__(self, graph: IrGraph) -> None:
        self._makers = {port.name: layer for layer in graph.layers for port in layer.outputs}
        self._readers = Counter(name for layer in graph.layers for name in layer.inputs)
        self._kept = {*graph.results}
        self._found: dict[int, tuple[tuple[str, ...], dict[str, Any]]] = {}
        self.absorbed: set[int] = set()
        for layer in graph.layers:
            self._add(layer)

    def node(self, layer: Layer, name: str) -> IrNode:
        """The node of a layer."""
        inputs, attributes = self._found.get(layer.id, (layer.inputs, None))
        return IrNode(
            name=name,
            op=neutral(layer) if attributes is None else DEQUANTIZE,
            inputs=inputs,
            outputs=layer.outputs,
            attributes=attributes_of(layer) if attributes is None else attributes,
            layer=layer,
        )

    def _add(self, layer: Layer) -> None:
        if layer.type != "Multiply" or len(layer.inputs) != 2:
            return
        first, scale = layer.inputs
        inside = [self._makers[first]]
        zero = ""
        if inside[0].type == "Subtract":
            zero = inside[0].inputs[1]
            inside.append(self._makers[inside[0].inputs[0]])
        if inside[-1].type != "Convert":
            return
        stored, factor = self._makers[inside[-1].inputs[0]], self._makers[scale]
        if zero and self._makers[zero].type == "Convert":
            # A zero point may be shared by several chains; its Convert then remains as a node.
            inside.append(self._makers[zero])
            zero = inside[-1].inputs[0]
        constants = [stored, factor, *([self._makers[zero]] if zero else [])]
        held = [each.stored for each in constants if each.stored is not None]
        if len(held) < len(constants) or held[0].dtype not in INTEGERS:
            return
        axis = _axis(held[0].shape, held[1].shape)
        if axis is None or not all(map(self._read_once, inside)):
            return
        self.absorbed |= {each.id for each in inside}
        inputs = (stored.outputs[0].name, scale, *([zero] if zero else []))
        self._found[layer.id] = inputs, axis

    def _read_once(self, layer: Layer) -> bool:
        name = layer.outputs[0].name
        return self._readers[name] == 1 and name not in self._kept


def _axis(shape: Sequence[int], scale: Sequence[int]) -> dict[str, Any] | None:
    """Along which axis, or in blocks of which size, a stored tensor is scaled; None: neither."""
    padded = (1,) * (len(shape) - len(scale)) + tuple(scale)
    if len(padded) != len(shape):
        return None
    along = [axis for axis, size in enumerate(padded) if size > 1]
    if len(along) <= 1:
        return {"axis": along[0]} if along else {"axis": 0}
    whole = [axis for axis, size in enumerate(padded) if size == 1]
    same = all(padded[axis] in {1, shape[axis]} for axis in range(len(shape)))
    if same and len(whole) == 1 and len(scale) == len(shape):
        return {"axis": whole[0], "block_size": shape[whole[0]]}
    return None
