"""A part of a graph as a model of its own: the layers between some tensors and some others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.cutting import find_body, walk_back
from isomorph.core.untrusted_xml import Element
from isomorph.frameworks.openvino.describe import body_name
from isomorph.frameworks.openvino.nodes import nodes_of
from isomorph.frameworks.openvino.program import NATIVE
from isomorph.frameworks.openvino.xml_graph import XmlGraph, escaped, port

if TYPE_CHECKING:
    from isomorph.core.model import Dimension
    from isomorph.core.trace import Array
    from isomorph.frameworks.openvino.program import IrGraph, IrModel, Layer


class Cutter:
    """One graph, ready to be cut at any of its tensors; ``weights`` are those of its model."""

    def __init__(self, graph: IrGraph, weights: Any) -> None:  # noqa: ANN401
        self.graph, self._weights = graph, weights
        self.makers = {port.name: layer for layer in graph.layers for port in layer.outputs}
        self.ports = {port.name: port for layer in graph.layers for port in layer.outputs}
        self.fixed = self.fixed_beside(())
        """Tensors that follow from constants and shapes alone."""
        self._by_id = {layer.id: layer for layer in graph.layers}

    def fixed_beside(self, fed: Collection[str]) -> frozenset[str]:
        """Tensors that follow from constants and shapes alone, and from none of those fed."""
        found: set[str] = set()
        for layer in self.graph.layers:
            free = layer.type in {"Parameter", "ReadValue"} or layer.type.startswith("Random")
            if not free and all(name in found for name in layer.inputs):
                found |= {port.name for port in layer.outputs if port.name not in fed}
        return frozenset(found)

    def layers(self, fed: Mapping[str, Any], fetch: Sequence[str]) -> tuple[list[Layer], list[str]]:
        """The layers of a part in order, and the inputs that were not fed."""
        needed, _ = walk_back(
            fetch, fed, lambda name: self.makers[name].id, lambda key: self._by_id[key].inputs
        )
        found = [layer for layer in self.graph.layers if layer.id in needed]
        missing = [each.outputs[0].name for each in found if each.type == "Parameter"]
        return found, missing

    def part(
        self,
        shapes: Mapping[str, tuple[Dimension, ...] | None],
        fetch: Sequence[str],
        stored: Mapping[str, Array] | None = None,
    ) -> tuple[Element, bytes]:
        """The XML and the weights of a part.

        ``shapes`` are its inputs in order, ``stored`` tensors that are constants there.
        """
        given: dict[str, Any] = {**shapes, **(stored or {})}
        kept, _ = self.layers(given, fetch)
        first = 1 + max((layer.id for layer in self.graph.layers), default=0)
        root = Element("net", {"name": f"{self.graph.name} (part)", "version": "11"})
        made, places = XmlGraph(root, first=first), {}
        for name, shape in shapes.items():
            dtype = self.ports[name].dtype
            known = (
                "..." if shape is None else ",".join("?" if s is None else str(s) for s in shape)
            )
            data = {"shape": known, "element_type": NATIVE[dtype or "float32"]}
            kind, out = ("Parameter", "opset1"), [port(0, dtype, shape, name)]
            places[name] = made.add(f"{name}/Parameter", kind, data, outputs=out), 0
        for name, value in (stored or {}).items():
            places[name] = made.constant(f"{name}/Const", value, value.dtype.name, tensor=name), 0
        for layer in kept:
            made.put(self._copy(layer, set(fetch), made))
            places |= {each.name: (layer.id, each.id) for each in layer.outputs
                       if each.name not in given}  # fmt: skip
        for layer in kept:
            for place, name in zip(layer.ports, layer.inputs, strict=True):
                made.connect(places[name], (layer.id, place))
        for name in fetch:
            kind, read = ("Result", "opset1"), [port(0, self.ports[name].dtype, ())]
            made.connect(places[name], (made.add(f"{name}/Result", kind, inputs=read), 0))
        root.children.append(Element("rt_info"))
        return root, bytes(made.weights)

    def _copy(self, layer: Layer, fetched: set[str], made: XmlGraph) -> Element:
        """A layer of the graph, with the weights that it holds."""
        copy = layer.element.copied()
        for each in _constants(copy):
            data = each.first("data")
            assert data is not None, "a constant states where it lies"
            offset, size = int(data.attributes["offset"]), int(data.attributes["size"])
            data.attributes["offset"] = str(made.keep(self._weights[offset : offset + size]))
        for element, out in zip(copy.inside("output", "port"), layer.outputs, strict=False):
            if out.name in fetched:
                element.attributes["names"] = escaped(out.name)
        return copy


def _constants(element: Element) -> Iterator[Element]:
    """The constants in a layer and in its bodies."""
    waiting = [element]
    while waiting:
        each = waiting.pop()
        if each.tag == "layer" and each.attributes.get("type") == "Const":
            yield each
        waiting += each.children


def body_of(model: IrModel, node: str, body: str) -> IrGraph:
    """The body of a node that has a path, ``loop/body#0/branch``."""

    def bodies(graph: IrGraph) -> Iterator[tuple[str, str, int, IrGraph]]:
        for each in nodes_of(graph):
            for key, inner in each.layer.bodies.items():
                yield each.name, body_name(key), 0, inner.graph

    path, _ = find_body(model.graph, node, body, bodies)
    return path[-1]
