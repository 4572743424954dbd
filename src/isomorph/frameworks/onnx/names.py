"""Names are text. Where the bytes of one are not, the file is damaged, and the parser is silent.

Protobuf reads such a string all the same and gives it out as bytes, which fails much later in
the hands of whoever compares it with a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.onnx.scope import bodies, graphs


def check_names(model: Any, *, file: str) -> None:  # noqa: ANN401
    """Raise for the first name that is not UTF-8, with what has that name."""
    for bearer, name in _names(model):
        if not isinstance(name, str):
            raise UnreadableModelError(
                "MODEL_TRUNCATED",
                "the file is damaged: a name in it is not text",
                file=file,
                where=bearer,
                why=f"its bytes are {bytes(name)[:32]!r}, and names in ONNX are UTF-8",
                fix="fetch or export the file again and compare its size with the original's",
            )


def _names(model: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Every text that is read as one; a doc_string may be what it likes."""
    yield from (("the producer", text) for text in (model.producer_name, model.producer_version))
    yield from (("an opset import", entry.domain) for entry in model.opset_import)
    yield from (("the metadata", text) for each in model.metadata_props for text in _entry(each))
    for function in model.functions:
        own = (function.name, function.domain, *function.input, *function.output)
        yield from (("a function", text) for text in (*own, *function.attribute))
        yield from (("an opset import", entry.domain) for entry in function.opset_import)
        for node in function.node:
            yield from _of_node(node)
            for _, _, body in bodies(node):
                yield from (each for graph in graphs(body) for each in _of_graph(graph))
    for graph in graphs(model.graph):
        yield from _of_graph(graph)


def _of_graph(graph: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    yield "a graph", graph.name
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield "a tensor", value.name
        sizes = value.type.tensor_type.shape.dim
        yield from (("a dynamic axis", size.dim_param) for size in sizes)
    yield from (("an initializer", tensor.name) for tensor in graph.initializer)
    yield from (("an initializer", each.values.name) for each in graph.sparse_initializer)
    for node in graph.node:
        yield from _of_node(node)


def _of_node(node: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    own = (node.name, node.op_type, node.domain, *node.input, *node.output)
    yield from (("a node", text) for text in own)
    for attribute in node.attribute:
        yield from (("an attribute", text) for text in (attribute.name, attribute.ref_attr_name))
    yield from (("the metadata of a node", text) for e in node.metadata_props for text in _entry(e))


def _entry(entry: Any) -> tuple[Any, Any]:  # noqa: ANN401
    return entry.key, entry.value
