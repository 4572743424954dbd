"""Other names, another order, and the file that ONNX Runtime writes of its own optimized graph."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from .building import names_read
from .editing import copied


def renamed(
    model: onnx.ModelProto, rng: np.random.Generator
) -> tuple[onnx.ModelProto, dict[str, str], dict[str, str]]:
    """No tensor and no node keeps its name, but inputs and outputs; the new names of both."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    kept = {item.name for item in (*graph.input, *graph.output)}
    tensors = [tensor.name for tensor in graph.initializer]
    tensors += [name for node in graph.node for name in node.output if name]
    numbers = rng.permutation(len(tensors))
    new = {name: f"v{n}" for name, n in zip(tensors, numbers, strict=True) if name not in kept}
    nodes = {node.name: f"op{n}" for n, node in enumerate(graph.node)}
    for tensor in graph.initializer:
        tensor.name = new.get(tensor.name, tensor.name)
    for node in graph.node:
        node.name = nodes[node.name]
        _rewire(node, new)
    del graph.value_info[:]
    return copy, nodes, new


def _rewire(node: onnx.NodeProto, new: Mapping[str, str]) -> None:
    for wires in (node.input, node.output):
        wires[:] = [new.get(name, name) for name in wires]
    for item in node.attribute:
        if item.type == onnx.AttributeProto.GRAPH:
            # A body may use a name of its own that stands for something else outside.
            own = {value.name for value in (*item.g.input, *item.g.initializer)}
            own |= {name for inner in item.g.node for name in inner.output}
            outer = {name: other for name, other in new.items() if name not in own}
            for inner in item.g.node:
                _rewire(inner, outer)
            for value in item.g.output:
                value.name = outer.get(value.name, value.name)


def reordered(model: onnx.ModelProto, rng: np.random.Generator) -> onnx.ModelProto:
    """Any order in which each node stands behind what it reads; constants in any order at all."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    known = {"", *(item.name for item in (*graph.input, *graph.initializer))}
    waiting, ordered = [copied(node) for node in graph.node], []
    while waiting:
        ready = [place for place, node in enumerate(waiting) if names_read(node) <= known]
        chosen = waiting.pop(ready[int(rng.integers(len(ready)))])
        ordered.append(chosen)
        known |= set(chosen.output)
    stored = list(graph.initializer)
    shuffled = [onnx.TensorProto.FromString(stored[i].SerializeToString())
                for i in rng.permutation(len(stored))]  # fmt: skip
    del graph.node[:], graph.initializer[:]
    graph.node.extend(ordered)
    graph.initializer.extend(shuffled)
    return copy


def optimized(model: onnx.ModelProto, level: str) -> onnx.ModelProto | None:
    """As ONNX Runtime writes it, ``basic`` or ``extended``; None with operators of its own."""
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_BASIC if level == "basic" else levels.ORT_ENABLE_EXTENDED
    )
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "optimized.onnx")
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        made = onnx.load(options.optimized_model_filepath)
    if any(node.domain not in ("", "ai.onnx") for node in made.graph.node):
        return None
    kept = [entry for entry in made.opset_import if entry.domain in ("", "ai.onnx")]
    del made.opset_import[:]
    made.opset_import.extend(kept[:1])
    for place, node in enumerate(made.graph.node):
        node.name = node.name or f"unnamed_{place}"
    return made
