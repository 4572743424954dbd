"""From the files of a model to its layers: every reference, type and offset is checked."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.core.ordering import CircleError, dependencies_first
from isomorph.core.untrusted_xml import TEXT, Element, parse
from isomorph.frameworks.openvino import weights as stored_weights
from isomorph.frameworks.openvino.bodies import bodies_of
from isomorph.frameworks.openvino.program import (
    DTYPES,
    PRECISIONS,
    IrGraph,
    IrModel,
    Layer,
    Port,
    Stored,
)
from isomorph.store.model_bytes import mapped

if TYPE_CHECKING:
    from isomorph.core.model import Dimension

VERSIONS = (10, 11)
"""Of the file format: those that OpenVINO 2021 and later write."""
MAX_BODIES = 40
"""Bodies inside one another. A deeper file is refused."""


def open_path(path: Path, *, trusted: bool = False) -> tuple[IrModel, str]:
    """The model of an .xml file and the weights beside it, and the digest of both."""
    text, file = bytes(mapped(path)), str(path)
    root = parse(text, file=file)
    weights = stored_weights.mapped(path, trusted=trusted)
    digest = hashlib.sha256(hashlib.sha256(text).digest())
    digest.update(weights)
    return replace(read_tree(root, weights, file=file), path=path), digest.hexdigest()


def read_tree(root: Element, weights: Any, *, file: str) -> IrModel:  # noqa: ANN401
    """The model of a parsed file."""
    if root.tag != "net":
        raise UnreadableModelError(
            "NOT_A_MODEL", f"the XML is a <{root.tag}> and no <net>", file=file
        )
    reader = Reader(weights, file)
    version = reader.number(root.attributes.get("version", ""), "the version of the format")
    if not VERSIONS[0] <= version <= VERSIONS[1]:
        newer = version > VERSIONS[1]
        raise UnreadableModelError(
            "OPSET_TOO_NEW" if newer else "UNSUPPORTED_FORMAT",
            f"the model has version {version} of the format", file=file,
            why=f"versions {VERSIONS[0]} to {VERSIONS[1]} are read; OpenVINO reads none before",
            fix=None if newer else "convert the model again",
        )  # fmt: skip
    graph = reader.graph(root, root.attributes.get("name", "model"))
    return IrModel(graph=graph, root=root, weights=weights, version=version)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads graphs and the bodies inside them; errors name the file."""

    weights: Any
    file: str
    depth: int = 0

    def broken(self, what: str, where: str = "", code: str = "INVALID_GRAPH") -> Exception:
        """The error for a file that contradicts itself."""
        return UnreadableModelError(
            code, what, file=self.file, where=where or None, fix="convert the model again"
        )

    def number(self, text: str | None, what: str) -> int:
        """A whole number of the file."""
        try:
            return int(text or "")
        except ValueError as error:
            raise self.broken(f"{what} is {text!r} and no number") from error

    def numbers(self, text: str, what: str) -> tuple[int, ...]:
        """Numbers with commas between them."""
        return tuple(self.number(each, what) for each in text.split(",") if each.strip())

    def graph(self, element: Element, name: str) -> IrGraph:
        """A graph of the file; its layers come after those that they read."""
        if self.depth > MAX_BODIES:
            raise self.broken(
                f"bodies lie in one another, more than {MAX_BODIES} deep", name, "NESTING_TOO_DEEP"
            )
        listed = element.first("layers")
        if listed is None:
            raise self.broken("the graph has no <layers>", name)
        found: dict[int, Element] = {}
        for each in listed.each("layer"):
            key = self.number(each.attributes.get("id"), "the id of a layer")
            if key in found:
                raise self.broken(f"two layers have the id {key}", each.attributes.get("name", ""))
            found[key] = each
        if not found:
            raise self.broken("the graph has no layers", name, "MODEL_EMPTY")
        reads = self._edges(element, found)
        ports = self._ports(found)
        layers: dict[int, Layer] = {}
        for key in self._order(found, reads):
            layers[key] = self._layer(key, found[key], reads.get(key, {}), ports)
        names = {key: self._tensor(layer) for key, layer in layers.items()}
        for key, layer in list(layers.items()):
            inner = replace(self, depth=self.depth + 1)
            if bodies := bodies_of(inner, layer):
                layers[key] = replace(layer, bodies=bodies)
        order = [key for key in found if found[key].attributes.get("type") == "Parameter"]
        return IrGraph(
            name=name,
            layers=tuple(layers.values()),
            inputs=tuple(names[key] for key in order),
            results=tuple(
                layers[key].inputs[0]
                for key in found
                if found[key].attributes.get("type") == "Result"
            ),
            tensor_of={key: name for key, name in names.items() if name},
        )

    def _edges(
        self, element: Element, found: Mapping[int, Element]
    ) -> dict[int, dict[int, tuple[int, int]]]:
        """By layer and port that reads: the layer and port that is read."""
        reads: dict[int, dict[int, tuple[int, int]]] = {}
        for edge in element.inside("edges", "edge"):
            words = ("from-layer", "from-port", "to-layer", "to-port")
            start, out, end, port = (
                self.number(edge.attributes.get(word), f"{word} of an edge") for word in words
            )
            where = f"edge from layer {start} to layer {end}"
            if start not in found or end not in found:
                raise self.broken("an edge names a layer that does not exist", where,
                                  "DANGLING_INPUT")  # fmt: skip
            if port in reads.setdefault(end, {}):
                raise self.broken("two edges lead to one port", where, "NOT_SSA")
            reads[end][port] = (start, out)
        return reads

    def _order(
        self, found: Mapping[int, Element], reads: Mapping[int, Mapping[int, tuple[int, int]]]
    ) -> Iterator[int]:
        """Each layer after those that it reads, otherwise in the order of the file."""
        try:
            yield from dependencies_first(
                found, lambda key: [start for start, _ in reads.get(key, {}).values()]
            )
        except CircleError as error:
            around = " → ".join(found[key].attributes.get("name", "") for key in error.circle)
            raise self.broken("the graph has a cycle", around, "GRAPH_CYCLE") from error

    def _ports(self, found: Mapping[int, Element]) -> dict[int, tuple[Port, ...]]:
        """The outputs of every layer, named by the file, else after the layer; no name twice."""
        taken: set[str] = set()
        ports: dict[int, tuple[Port, ...]] = {}
        for key, layer in found.items():
            outputs = layer.inside("output", "port")
            made = []
            for place, port in enumerate(outputs):
                called = _names(port.attributes.get("names", ""))
                own = layer.attributes.get("name") or f"layer {key}"
                plain = own if len(outputs) == 1 else f"{own}:{place}"
                called = tuple(sorted(called, key=len))
                free = [name for name in (*called, plain, f"{plain}#{key}") if name not in taken]
                name = free[0] if free else f"{plain}#{key}:{place}"
                taken.add(name)
                made.append(self._port(port, name, called))
            ports[key] = tuple(made)
        return ports

    def _port(self, port: Element, name: str, called: tuple[str, ...]) -> Port:
        precision = port.attributes.get("precision", "")
        dims = [dim.attributes.get(TEXT, "") for dim in port.each("dim")]
        dynamic = port.attributes.get("rank") == "dynamic" or "..." in dims
        return Port(
            id=self.number(port.attributes.get("id"), f"the id of a port of {name!r}"),
            name=name,
            dtype=PRECISIONS.get(precision.upper()),
            shape=None if dynamic else tuple(self._size(text, name) for text in dims),
            called=called,
        )

    def _size(self, text: str, name: str) -> Dimension:
        """A size; a range or -1 is unknown."""
        if text in {"?", "-1"} or ".." in text:
            return None
        size = self.number(text, f"a size of {name!r}")
        return None if size < 0 else size

    def _layer(
        self,
        key: int,
        element: Element,
        reads: Mapping[int, tuple[int, int]],
        ports: Mapping[int, tuple[Port, ...]],
    ) -> Layer:
        given, data = element.attributes, element.first("data")
        name = given.get("name") or f"layer {key}"
        declared = element.inside("input", "port")
        places = [self.number(port.attributes.get("id"), "the id of a port") for port in declared]
        if set(reads) - set(places):
            raise self.broken("an edge leads to a port that does not exist", name,
                              "DANGLING_INPUT")  # fmt: skip
        missing = [place for place in places if place not in reads]
        if missing:
            raise self.broken(f"nothing leads to port {missing[0]}", name, "DANGLING_INPUT")
        layer = Layer(
            id=key,
            name=name,
            type=given.get("type", ""),
            version=given.get("version", ""),
            data={k: v for k, v in data.attributes.items() if k != TEXT} if data else {},
            inputs=tuple(self._read(reads[place], ports, name) for place in places),
            ports=tuple(places),
            outputs=ports[key],
            element=element,
        )
        if layer.type == "Result" and not layer.inputs:
            raise self.broken("a result reads nothing", name, "DANGLING_INPUT")
        if layer.type in {"Parameter", "Const"} and len(layer.outputs) != 1:
            raise self.broken(f"a {layer.type} has {len(layer.outputs)} outputs", name)
        return replace(layer, stored=self._stored(layer)) if layer.type == "Const" else layer

    def _read(
        self, place: tuple[int, int], ports: Mapping[int, tuple[Port, ...]], name: str
    ) -> str:
        for port in ports[place[0]]:
            if port.id == place[1]:
                return port.name
        raise self.broken(
            f"it reads port {place[1]} of layer {place[0]}, which does not exist", name,
            "DANGLING_INPUT",
        )  # fmt: skip

    def _stored(self, layer: Layer) -> Stored:
        where = f"constant {layer.name!r}"
        native = layer.data.get("element_type", "")
        if native not in DTYPES:
            raise self.broken(f"the element type {native!r} is not read", where, "BAD_DTYPE")
        shape = self.numbers(layer.data.get("shape", ""), f"a size of {where}")
        if any(size < 0 for size in shape) or math.prod(shape) >= 1 << 62:
            raise self.broken(f"the shape is {list(shape)}", where, "BAD_DIMS")
        stored = Stored(
            dtype=DTYPES[native],
            shape=shape,
            offset=self.number(layer.data.get("offset"), f"the offset of {where}"),
            size=self.number(layer.data.get("size"), f"the size of {where}"),
        )
        stored_weights.check(stored, self.weights, file=self.file, where=where)
        return stored

    def _tensor(self, layer: Layer) -> str:
        """What stands for the layer where the graph around it names it."""
        if layer.type == "Result":
            return layer.inputs[0]
        return layer.outputs[0].name if layer.outputs else ""


def _names(text: str) -> tuple[str, ...]:
    """Names with commas between them; a comma inside a name has a backslash before it."""
    found = re.findall(r"(?:[^\\,]|\\.|\\$)+", text, re.DOTALL)
    names = (re.sub(r"\\(.?)", r"\1", each, flags=re.DOTALL) for each in found)
    return tuple(name for name in names if name)
