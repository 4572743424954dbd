"""How the bodies of If, Loop and TensorIterator are connected to the layers around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.frameworks.openvino.program import Body, BodyPort

if TYPE_CHECKING:
    from isomorph.core.untrusted_xml import Element
    from isomorph.frameworks.openvino.program import IrGraph, Layer
    from isomorph.frameworks.openvino.read import Reader

_MAPS = {"body": "port_map", "then_body": "then_port_map", "else_body": "else_port_map"}
OUTSIDE = -1
"""The port of what leads to no tensor outside: the counter and the condition of a loop."""


def bodies_of(reader: Reader, layer: Layer) -> Mapping[str, Body]:
    """The bodies of a layer by the names that they have in the file."""
    found = {}
    for key, places in _MAPS.items():
        element = layer.element.first(key)
        if element is not None:
            graph = reader.graph(element, f"{layer.name}/{key}")
            found[key] = _body(reader, layer, graph, layer.element.first(places))
    return found


def _body(reader: Reader, layer: Layer, graph: IrGraph, places: Element | None) -> Body:
    takes, gives, special = [], [], {}
    for element in places.children if places is not None else ():
        port = _port(reader, layer, graph, element)
        if port.place == OUTSIDE:
            special[element.attributes.get("purpose", "")] = port.tensor
        elif element.tag == "input":
            takes.append(port)
        else:
            gives.append(port)
    back = tuple(
        (
            _tensor(reader, layer, graph, edge.attributes.get("from-layer")),
            _tensor(reader, layer, graph, edge.attributes.get("to-layer")),
        )
        for edge in layer.element.inside("back_edges", "edge")
    )
    return Body(
        graph=graph,
        takes=tuple(takes),
        gives=tuple(gives),
        back=back,
        condition=special.get("execution_condition", ""),
        counter=special.get("current_iteration", ""),
    )


def _port(reader: Reader, layer: Layer, graph: IrGraph, element: Element) -> BodyPort:
    given = element.attributes
    outside = reader.number(given.get("external_port_id"), f"a port of {layer.name!r}")
    known = layer.ports if element.tag == "input" else tuple(port.id for port in layer.outputs)
    if outside != OUTSIDE and outside not in known:
        raise reader.broken(f"a body is connected to port {outside}", layer.name, "DANGLING_INPUT")

    numbers = {
        word: reader.number(given.get(word, str(otherwise)), f"{word} of {layer.name!r}")
        for word, otherwise in (("start", 0), ("end", -1), ("stride", 1), ("part_size", 1))
    }
    return BodyPort(
        place=OUTSIDE if outside == OUTSIDE else known.index(outside),
        tensor=_tensor(reader, layer, graph, given.get("internal_layer_id")),
        axis=reader.number(given["axis"], f"axis of {layer.name!r}") if "axis" in given else None,
        **numbers,
    )


def _tensor(reader: Reader, layer: Layer, graph: IrGraph, text: str | None) -> str:
    key = reader.number(text, f"a layer in a body of {layer.name!r}")
    if key not in graph.tensor_of:
        raise reader.broken(f"its body has no layer {key}", layer.name, "DANGLING_INPUT")
    return graph.tensor_of[key]
