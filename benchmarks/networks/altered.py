"""ONNX files with a fault planted in them, and one that an optimizer folded and renamed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx


def with_fault(source: Path, target: Path) -> str:
    """One 3×3 convolution deep inside looks a pixel beside; gives the name of its node.

    Only its padding is changed, from one row on either side to two on one, so that every shape
    stays what it was.
    """
    import onnx

    model = onnx.load(source)
    padded = [node for node in model.graph.node if _pads(node) == [1, 1, 1, 1]]
    chosen = padded[len(padded) // 2]
    for attribute in chosen.attribute:
        if attribute.name == "pads":
            attribute.ints[:] = [2, 1, 0, 1]
    onnx.save(model, target)
    return str(chosen.name)


def with_exchanged_channels(source: Path, target: Path) -> str:
    """Two output channels of one convolution are exchanged; gives the name of its node."""

    def exchange(values: np.ndarray) -> None:
        values[[0, 1]] = values[[1, 0]]

    return _with_altered_constants(source, target, exchange, bias_too=True)


def with_wrong_weight(source: Path, target: Path) -> str:
    """The largest weight of one convolution has another sign; gives the name of its node."""
    import numpy as np

    def negate(values: np.ndarray) -> None:
        flat = values.reshape(-1)
        flat[np.abs(flat).argmax()] *= -1

    return _with_altered_constants(source, target, negate, bias_too=False)


def _with_altered_constants(
    source: Path, target: Path, alter: Callable[[np.ndarray], None], *, bias_too: bool
) -> str:
    """The constants of the convolution in the middle are altered."""
    import onnx

    model = onnx.load(source)
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    found = [
        node for node in model.graph.node if node.op_type == "Conv" and node.input[1] in stored
    ]
    chosen = found[len(found) // 2]
    for name in chosen.input[1:] if bias_too else chosen.input[1:2]:
        values = onnx.numpy_helper.to_array(stored[name]).copy()
        alter(values)
        stored[name].CopyFrom(onnx.numpy_helper.from_array(values, name))
    onnx.save(model, target)
    return str(chosen.name)


def _pads(node: onnx.NodeProto) -> list[int]:
    if node.op_type != "Conv":
        return []
    found = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    return found.get("pads", []) if found.get("strides") == [1, 1] else []


def folded_and_renamed(source: Path, target: Path) -> dict[str, str]:
    """As ONNX Runtime's optimizer writes it, with no name kept; gives the new name of each tensor.

    The keys are the names that tensors had which are still there.
    """
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    model = onnx.load(target)
    graph = model.graph
    kept = {value.name for value in (*graph.input, *graph.output)}
    made = [name for node in graph.node for name in node.output if name not in kept]
    stored = [tensor.name for tensor in graph.initializer]
    renamed = {name: f"t{place}" for place, name in enumerate(made)}
    renamed |= {name: f"c{place}" for place, name in enumerate(stored)}
    for place, node in enumerate(graph.node):
        node.name = f"n{place}"
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    for tensor in graph.initializer:
        tensor.name = renamed[tensor.name]
    del graph.value_info[:]
    onnx.save(model, target)
    return renamed
