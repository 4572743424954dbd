"""A part of a graph as a model of its own: the layers between some tensors and some others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.cutting import find_body, walk_back
from isomorph.core.untrusted_xml import TEXT, Element
from isomorph.frameworks.openvino.program import NATIVE
from isomorph.kernels.packed_storage import encoded

if TYPE_CHECKING:
    from isomorph.core.model import Dimension
    from isomorph.core.trace import Array
    from isomorph.frameworks.openvino.program import IrGraph, IrModel, Layer, Port

_PORT_TYPES = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "boolean": "BOOL"}


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
        made = _Part(self._weights, 1 + max((layer.id for layer in self.graph.layers), default=0))
        for name, shape in shapes.items():
            made.parameter(self.ports[name], shape)
        for name, value in (stored or {}).items():
            made.constant(self.ports[name], value)
        for layer in kept:
            made.layer(layer, set(fetch))
        for name in fetch:
            made.result(name, self.ports[name])
        for layer in kept:
            for place, name in zip(layer.ports, layer.inputs, strict=True):
                made.edge(self._place(name, made, given), (layer.id, place))
        for name, key in made.results:
            made.edge(self._place(name, made, given), (key, 0))
        return made.root(f"{self.graph.name} (part)"), bytes(made.weights)

    def _place(self, name: str, made: _Part, given: Mapping[str, Any]) -> tuple[int, int]:
        return made.places[name] if name in given else (self.makers[name].id, self.ports[name].id)


class _Part:
    """The layers, edges and weights of a new model."""

    def __init__(self, weights: Any, first: int) -> None:  # noqa: ANN401
        self._source, self._next = weights, first
        self.weights = bytearray()
        self.places: dict[str, tuple[int, int]] = {}
        self.results: list[tuple[str, int]] = []
        self._layers: list[Element] = []
        self._edges: list[Element] = []

    def _id(self) -> int:
        self._next += 1
        return self._next - 1

    def parameter(self, port: Port, shape: tuple[Dimension, ...] | None) -> None:
        """An input of the part."""
        native = NATIVE[port.dtype or "float32"]
        known = "..." if shape is None else ",".join("?" if s is None else str(s) for s in shape)
        self._source_layer("Parameter", port, {"shape": known, "element_type": native}, shape)

    def constant(self, port: Port, value: Array) -> None:
        """A constant of the part."""
        dtype = value.dtype.name
        raw = encoded(value, dtype)
        data = {"element_type": NATIVE[dtype], "shape": ", ".join(map(str, value.shape)),
                "offset": str(self._stored(raw)), "size": str(len(raw))}  # fmt: skip
        self._source_layer("Const", port, data, value.shape)

    def _source_layer(
        self, kind: str, port: Port, data: dict[str, str], shape: tuple[Dimension, ...] | None
    ) -> None:
        key = self._id()
        self.places[port.name] = key, 0
        native = NATIVE[port.dtype or "float32"]
        precision = _PORT_TYPES.get(native, native.upper())
        dims = [Element("dim", {TEXT: "-1" if s is None else str(s)}) for s in shape or ()]
        out = {"id": "0", "precision": precision, "names": escaped(port.name)}
        if shape is None:
            out["rank"] = "dynamic"
        given = {"id": str(key), "name": f"{port.name}/{kind}", "type": kind, "version": "opset1"}
        self._layers.append(
            Element("layer", given, [
                Element("data", data), Element("output", {}, [Element("port", out, dims)]),
            ])
        )  # fmt: skip

    def layer(self, layer: Layer, fetched: set[str]) -> None:
        """A layer of the graph, with the weights that it holds."""
        copy = layer.element.copied()
        for each in _constants(copy):
            data = each.first("data")
            assert data is not None, "a constant states where it lies"
            offset, size = int(data.attributes["offset"]), int(data.attributes["size"])
            data.attributes["offset"] = str(self._stored(self._source[offset : offset + size]))
        listed = copy.first("output")
        for element, port in zip(listed.children if listed else (), layer.outputs, strict=False):
            if port.name in fetched:
                element.attributes["names"] = escaped(port.name)
        self._layers.append(copy)

    def result(self, name: str, port: Port) -> None:
        """An output of the part."""
        key = self._id()
        native = NATIVE[port.dtype or "float32"]
        read = Element("port", {"id": "0", "precision": _PORT_TYPES.get(native, native.upper())})
        given = {"id": str(key), "name": f"{name}/Result", "type": "Result", "version": "opset1"}
        self._layers.append(Element("layer", given, [Element("input", {}, [read])]))
        self.results.append((name, key))

    def edge(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """A connection of two ports."""
        words = ("from-layer", "from-port", "to-layer", "to-port")
        values = map(str, (*start, *end))
        self._edges.append(Element("edge", dict(zip(words, values, strict=True))))

    def _stored(self, raw: Any) -> int:  # noqa: ANN401
        self.weights += bytes(-len(self.weights) % 64)
        offset = len(self.weights)
        self.weights += raw
        return offset

    def root(self, name: str) -> Element:
        """The whole."""
        parts = [Element("layers", {}, self._layers), Element("edges", {}, self._edges)]
        return Element("net", {"name": name, "version": "11"}, [*parts, Element("rt_info")])


def escaped(name: str) -> str:
    """A name as a port lists it, where commas separate names."""
    return name.replace("\\", "\\\\").replace(",", "\\,")


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
    from isomorph.frameworks.openvino.describe import body_name
    from isomorph.frameworks.openvino.nodes import nodes_of

    def bodies(graph: IrGraph) -> Iterator[tuple[str, str, int, IrGraph]]:
        for each in nodes_of(graph):
            for key, inner in each.bodies.items():
                yield each.name, body_name(key), 0, inner.graph

    path, _ = find_body(model.graph, node, body, bodies)
    return path[-1]
