"""SavedModels and GraphDefs read as protobuf fields, before TensorFlow is imported.

Two questions are answered here: could these bytes be a graph of TensorFlow at all, and which
operators does the file hold, and through whom are they reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from isomorph.store.protobuf import BYTES, VARINT, BrokenWireError, Field, fields

# GraphDef: node, library, version, versions, debug_info. SavedModel: schema version, meta graphs.
_GRAPH_FIELDS = {1: BYTES, 2: BYTES, 3: VARINT, 4: BYTES, 5: BYTES}
_NODE, _LIBRARY = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WireNode:
    """One NodeDef: its operator, what it reads (control edges too) and calls, its short texts."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireGraph:
    """The nodes of one graph, those of its functions, and what belongs to its saver."""

    nodes: tuple[WireNode, ...]
    functions: dict[str, tuple[WireNode, ...]]
    savers: tuple[str, ...] = ()
    outputs: tuple[str, ...] = field(default=())


def looks_like_graph(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is plausibly a GraphDef."""
    try:
        for found in fields(head, 0, len(head)):
            if _GRAPH_FIELDS.get(found.number) != found.wire:
                return False
            if found.number == _NODE and found.end <= len(head):
                node = _node(head, found)
                return bool(node.name) and node.op.replace("_", "a").isalnum()
            if found.number == _NODE:
                return _begins_as_node(head[found.start :])
    except (BrokenWireError, UnicodeDecodeError):
        return False
    return False


def _begins_as_node(data: bytes) -> bool:
    # A first node larger than the head is a constant; its name and operator come first.
    seen = {}
    try:
        for found in fields(data, 0, len(data)):
            if found.number in (1, 2) and found.wire == BYTES:
                seen[found.number] = data[found.start : found.end].decode("utf-8")
            if len(seen) == 2:
                return seen[2].isalnum()
    except (BrokenWireError, UnicodeDecodeError):
        return False
    return False


def looks_like_saved_model(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is plausibly a ``saved_model.pb``."""
    try:
        first = next(fields(head, 0, len(head)), None)
        if first is None or (first.number, first.wire, first.value) != (1, VARINT, 1):
            return False
        second = next(fields(head, first.end, len(head)), None)
        if second is None or (second.number, second.wire) != (2, BYTES):
            return False
        # A MetaGraphDef begins with its MetaInfoDef or its graph, which are messages.
        inner = next(fields(head, second.start, len(head)), None)
    except BrokenWireError:
        return False
    return inner is not None and inner.wire == BYTES and inner.number in (1, 2)


def read_saved_model(data: bytes) -> list[WireGraph]:
    """Every meta graph of a ``saved_model.pb``; BrokenWireError where the file ends too early."""
    return [_meta_graph(data, found) for found in _whole(data, 0, len(data), 2)]


def read_graph(data: bytes) -> WireGraph:
    """A GraphDef; BrokenWireError where the file ends too early."""
    return _graph(data, 0, len(data))


def _meta_graph(data: bytes, meta: Field) -> WireGraph:
    graph = WireGraph(nodes=(), functions={})
    savers: list[str] = []
    outputs: list[str] = []
    for found in _whole(data, meta.start, meta.end):
        if found.number == 2:
            graph = _graph(data, found.start, found.end)
        elif found.number == 3:  # SaverDef: filename, save and restore operations
            texts = [_text(data, each) for each in _whole(data, found.start, found.end)
                     if each.number in (1, 2, 3)]  # fmt: skip
            savers += [text.partition(":")[0] for text in texts]
        elif found.number == 5:  # one signature by its name
            outputs += _signature_outputs(data, found)
    return WireGraph(
        nodes=graph.nodes, functions=graph.functions, savers=tuple(savers), outputs=tuple(outputs)
    )


def _signature_outputs(data: bytes, entry: Field) -> Iterator[str]:
    for signature in _whole(data, entry.start, entry.end, 2):
        for output in _whole(data, signature.start, signature.end, 2):
            for info in _whole(data, output.start, output.end, 2):
                for name in _whole(data, info.start, info.end, 1):
                    yield _text(data, name).partition(":")[0]


def _graph(data: bytes, start: int, end: int) -> WireGraph:
    nodes: list[WireNode] = []
    functions: dict[str, tuple[WireNode, ...]] = {}
    for found in _whole(data, start, end):
        if found.number == _NODE and found.wire == BYTES:
            nodes.append(_node(data, found))
        elif found.number == _LIBRARY and found.wire == BYTES:
            for function in _whole(data, found.start, found.end, 1):
                name, inside = _function(data, function)
                functions[name] = inside
    return WireGraph(nodes=tuple(nodes), functions=functions)


def _function(data: bytes, function: Field) -> tuple[str, tuple[WireNode, ...]]:
    name = ""
    nodes: list[WireNode] = []
    for found in _whole(data, function.start, function.end):
        if found.number == 1:
            names = _whole(data, found.start, found.end, 1)
            name = next((_text(data, each) for each in names), "")
        elif found.number == 3:
            nodes.append(_node(data, found))
    return name, tuple(nodes)


def _node(data: bytes, node: Field) -> WireNode:
    name = op = ""
    inputs: list[str] = []
    functions: list[str] = []
    texts: list[str] = []
    for found in _whole(data, node.start, node.end):
        if found.number == 1:
            name = _text(data, found)
        elif found.number == 2:
            op = _text(data, found)
        elif found.number == 3:
            inputs.append(_text(data, found))
        elif found.number == 5:
            for value in _whole(data, found.start, found.end, 2):
                _attribute(data, value, functions, texts)
    return WireNode(
        name=name, op=op, inputs=tuple(inputs), functions=tuple(functions), texts=tuple(texts)
    )


def _attribute(data: bytes, value: Field, functions: list[str], texts: list[str]) -> None:
    for found in _whole(data, value.start, value.end):
        if found.number == 10:
            functions += [_text(data, each) for each in _whole(data, found.start, found.end, 1)]
        elif found.number == 1:
            for listed in _whole(data, found.start, found.end, 9):
                names = _whole(data, listed.start, listed.end, 1)
                functions += [_text(data, each) for each in names]
        elif found.number == 2 and found.end - found.start < 256:
            texts.append(_text(data, found))


def _whole(data: bytes, start: int, end: int, number: int | None = None) -> Iterator[Field]:
    for found in fields(data, start, end):
        if found.end > end:
            raise BrokenWireError(found.start)
        if number is None or (found.number == number and found.wire == BYTES):
            yield found


def _text(data: bytes, found: Field) -> str:
    if found.wire != BYTES:
        raise BrokenWireError(found.start)
    return data[found.start : found.end].decode("utf-8", "backslashreplace")
