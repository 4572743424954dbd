"""One model as text or as JSON: its signature, its operators, its quantized tensors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.reporters.diff_text import parameters
from isomorph.reporters.json import as_json
from isomorph.reporters.table import bytes_text, columns, shape_text

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Model, Node, Quantization, TensorSpec


def as_document(model: Model) -> str:
    """The whole description as JSON; the framework's own object stays out of it."""
    return as_json({"schema": "isomorph.model/1", "model": replace(model, native=None)})


def as_text(model: Model, *, nodes: bool) -> str:
    """One screen, and the nodes below it where they were asked for."""
    parts = [f"{model.location}: {model.framework} model", columns(list(_facts(model)))]
    parts += [f"note: {note}" for note in model.notes]
    if nodes:
        rows = [(node.name, node.native_op, _wires(node), _source(node))
                for node in _every_node(model.graph)]  # fmt: skip
        parts += ["", columns([("node", "op", message("INSPECT.column"), "source"), *rows])]
    return "\n".join([printable(parts[0]), parts[1], *parts[2:]])


def _facts(model: Model) -> Iterator[tuple[str, str]]:
    graph = model.graph
    yield "producer", model.producer or message("INSPECT.not_stated")
    if model.opset:
        yield (
            "opset",
            ", ".join(f"{key or 'ai.onnx'} {n}" for key, n in sorted(model.opset.items())),
        )
    yield "digest", model.digest
    everything = list(_every_node(graph))
    inside = len(everything) - len(graph.nodes)
    yield (
        "nodes",
        f"{len(graph.nodes)}" + (message("INSPECT.in_bodies", count=inside) if inside else ""),
    )
    counted = Counter(node.op for node in everything).most_common()
    yield "ops", ", ".join(f"{count} {op}" for op, count in counted) or "none"
    yield "constants", _constants(graph)
    for word, specs in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        for index, spec in enumerate(specs):
            yield (word if index == 0 else ""), _spec(spec)
        if not specs:
            yield word, "none"
    for index, quantized in enumerate(graph.quantization):
        yield ("quantized" if index == 0 else ""), _quantization(quantized)
    for key, value in sorted(model.metadata.items()):
        yield "metadata", f"{key}: {value}"


def _every_node(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        for body in node.bodies.values():
            yield from _every_node(body)


def _constants(graph: Graph) -> str:
    sizes = [_size(constant) for constant in graph.constants.values()]
    unknown = sum(size is None for size in sizes)
    total = bytes_text(sum(size for size in sizes if size is not None))
    return f"{len(sizes)}, {total}" + (
        message("INSPECT.unknown_size", count=unknown) if unknown else ""
    )


def _size(constant: Constant) -> float | None:
    bits = re.match(r"[a-z]+(\d+)", constant.dtype)
    if bits is None and constant.dtype != "bool":
        return None
    size = int(bits[1]) / 8 if bits else 1.0
    for length in constant.shape:
        size *= length
    return size


def _spec(spec: TensorSpec) -> str:
    kind = "" if spec.kind == "tensor" else f"{spec.kind} of "
    return f"{spec.name}  {kind}{spec.dtype or 'unknown'} {shape_text(spec.shape)}"


def _quantization(quantized: Quantization) -> str:
    return f"{quantized.tensor}  {parameters(quantized)}"


def _wires(node: Node) -> str:
    return f"{', '.join(node.inputs)} → {', '.join(node.outputs)}"


def _source(node: Node) -> str:
    source = node.source
    if source is None:
        return ""
    place = f"{source.file}:{source.line}" if source.file else ""
    return "  ".join(part for part in (source.module, place) if part)
