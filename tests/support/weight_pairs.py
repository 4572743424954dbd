"""Small ONNX models with given weights, for tests that compare constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = np.float32


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """One node, named by its operator and its first output."""
    made = outputs.split()
    return helper.make_node(op, inputs.split(), made, name=f"{op}_{made[0]}", **attributes)


def model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, list[int]]],
    outputs: dict[str, tuple[int, list[int]]],
    constants: dict[str, Any],
) -> onnx.ModelProto:
    """A model of these nodes; inputs and outputs by type and shape."""
    specs = [
        [helper.make_tensor_value_info(name, *each) for name, each in side.items()]
        for side in (inputs, outputs)
    ]
    stored = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    graph = helper.make_graph(nodes, "g", *specs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def floats(*shape: int) -> tuple[int, list[int]]:
    """A float32 tensor."""
    return TensorProto.FLOAT, list(shape)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers like those of a trained weight."""
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def spoiled(value: np.ndarray, place: tuple[int, ...], factor: float) -> np.ndarray:
    """A copy with one element multiplied."""
    copy = value.copy()
    copy[place] = copy[place] * factor
    return copy


def linear(weight: np.ndarray, bias: np.ndarray | None = None) -> onnx.ModelProto:
    """x·W, and a bias where one is given, behind a ReLU."""
    rows, columns = weight.shape
    nodes, constants = [node("MatMul", "x w", "h")], {"w": weight}
    if bias is not None:
        nodes.append(node("Add", "h b", "z"))
        constants["b"] = bias
    nodes.append(node("Relu", "h" if bias is None else "z", "y"))
    return model(nodes, {"x": floats(4, rows)}, {"y": floats(4, columns)}, constants)


def dequantized(
    integers: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int = 1
) -> onnx.ModelProto:
    """The same, with the weight on a grid."""
    rows, columns = integers.shape
    attributes = {"axis": axis} if np.ndim(scale) else {}
    nodes = [
        node("DequantizeLinear", "q s z", "w", **attributes),
        node("MatMul", "x w", "h"),
        node("Relu", "h", "y"),
    ]
    constants = {"q": integers, "s": scale, "z": zero}
    return model(nodes, {"x": floats(4, rows)}, {"y": floats(4, columns)}, constants)
