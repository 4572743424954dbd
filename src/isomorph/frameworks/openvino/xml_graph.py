"""Writing into a graph of XML elements: layers, ports, constants and connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.untrusted_xml import TEXT, Element
from isomorph.frameworks.openvino.program import NATIVE
from isomorph.kernels.packed_storage import encoded

if TYPE_CHECKING:
    from isomorph.core.model import Dimension
    from isomorph.core.trace import Array

Place = tuple[int, int]
"""A layer and a port of it."""
_PRECISIONS = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "boolean": "BOOL"}
_EDGE = ("from-layer", "from-port", "to-layer", "to-port")


class XmlGraph:
    """The layers and edges of a <net>, and the bytes of its weights, which only grow."""

    def __init__(self, root: Element, weights: Any = b"", first: int = 0) -> None:  # noqa: ANN401
        self.root, self.weights = root, bytearray(weights)
        self.layers, self.edges = _part(root, "layers"), _part(root, "edges")
        self.elements = {int(each.attributes["id"]): each for each in self.layers.each("layer")}
        self._next = max([first, *(key + 1 for key in self.elements)])
        self._into = {_place(edge, 2): edge for edge in self.edges.each("edge")}

    def add(
        self,
        name: str,
        kind: tuple[str, str],
        data: Mapping[str, str] | None = None,
        *,
        inputs: Sequence[Element] = (),
        outputs: Sequence[Element] = (),
    ) -> int:
        """A layer of this kind and version; its id."""
        key, self._next = self._next, self._next + 1
        given = {"id": str(key), "name": name, "type": kind[0], "version": kind[1]}
        held = [Element("data", dict(data))] if data else []
        held += [Element("input", {}, list(inputs))] if inputs else []
        held += [Element("output", {}, list(outputs))] if outputs else []
        self.put(Element("layer", given, held))
        return key

    def put(self, layer: Element) -> None:
        """A layer that is complete."""
        self.elements[int(layer.attributes["id"])] = layer
        self.layers.children.append(layer)

    def constant(self, name: str, value: Array, dtype: str, *, tensor: str = "") -> int:
        """A constant, whose tensor is called ``tensor``; its id."""
        made = [port(0, dtype, value.shape, tensor)]
        key = self.add(name, ("Const", "opset1"), {"element_type": NATIVE[dtype]}, outputs=made)
        self.fill(key, value, dtype)
        return key

    def fill(self, key: int, value: Array, dtype: str) -> None:
        """Give a constant values of any shape; what they replace stays unused."""
        element, raw = self.elements[key], encoded(value, dtype)
        data, made = element.first("data"), element.first("output")
        assert data is not None, "a constant states where it lies"
        assert made is not None, "a constant has an output"
        sizes = ", ".join(map(str, value.shape))
        data.attributes |= {"shape": sizes, "offset": str(self.keep(raw)), "size": str(len(raw))}
        for each in made.children:
            each.children = _dims(value.shape)

    def keep(self, raw: Any) -> int:  # noqa: ANN401
        """Store bytes behind all others; where they lie."""
        self.weights += bytes(-len(self.weights) % 64)
        offset = len(self.weights)
        self.weights += raw
        return offset

    def connect(self, start: Place, end: Place) -> None:
        """Let a port read another, and no other."""
        if end not in self._into:
            self._into[end] = Element("edge")
            self.edges.children.append(self._into[end])
        self._into[end].attributes |= dict(zip(_EDGE, map(str, (*start, *end)), strict=True))

    def move(self, start: Place, other: Place) -> set[str]:
        """Let all that reads a port read another one; the types of these layers."""
        moved = [edge for edge in self.edges.each("edge") if _place(edge, 0) == start]
        for edge in moved:
            edge.attributes |= dict(zip(_EDGE, map(str, other), strict=False))
        return {self.elements[_place(edge, 2)[0]].attributes["type"] for edge in moved}

    def output(self, place: Place) -> Element:
        """The port at which a layer gives a tensor."""
        layer, out = place
        ports = self.elements[layer].inside("output", "port")
        return next(each for each in ports if each.attributes.get("id") == str(out))

    def remove(self, key: int) -> None:
        """Remove a layer and what it reads."""
        self.layers.children.remove(self.elements.pop(key))
        for end in [each for each in self._into if each[0] == key]:
            self.edges.children.remove(self._into.pop(end))


def port(
    key: int, dtype: str | None, shape: Sequence[Dimension] | None, tensor: str = ""
) -> Element:
    """A port of a layer; one that is an output may name its tensor."""
    native = NATIVE[dtype or "float32"]
    stated = {"id": str(key), "precision": _PRECISIONS.get(native, native.upper())}
    if tensor:
        stated["names"] = escaped(tensor)
    if shape is None:
        stated["rank"] = "dynamic"
    return Element("port", stated, _dims(shape or ()))


def escaped(name: str) -> str:
    """A name as a port lists it, where commas separate names."""
    return name.replace("\\", "\\\\").replace(",", "\\,")


def _dims(shape: Sequence[Dimension]) -> list[Element]:
    return [Element("dim", {TEXT: "-1" if size is None else str(size)}) for size in shape]


def _place(edge: Element, end: int) -> Place:
    layer, port = (int(edge.attributes[word]) for word in _EDGE[end : end + 2])
    return layer, port


def _part(root: Element, tag: str) -> Element:
    found = root.first(tag)
    if found is None:
        found = Element(tag)
        root.children.append(found)
    return found
