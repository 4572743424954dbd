"""Random small ONNX graphs of operators that have bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, COLUMNS = 3, 4
UNARY = [
    "Relu",
    "Abs",
    "Neg",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Erf",
    "Softplus",
    "Elu",
    "Selu",
    "LeakyRelu",
    "HardSigmoid",
    "HardSwish",
    "Softsign",
    "Floor",
    "Ceil",
    "Round",
    "Sign",
    "Identity",
    "Gelu",
    "Softmax",
    "LogSoftmax",
    "Sin",
    "Cos",
    "Celu",
    "Mish",
    "Atan",
    "Sinh",
]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


class GraphMaker:
    """Adds nodes of one shape to a graph, each of which reads earlier tensors."""

    opset = 20

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.stored: list[Any] = []
        self.tensors = ["x"]

    def model(self, count: int) -> onnx.ModelProto:
        """A model of at least so many nodes, with every tensor as an output."""
        while len(self.nodes) < count:
            self._add()
        outputs = [self._value(name) for name in self.tensors[1:]]
        graph = helper.make_graph(self.nodes, "g", [self._value("x")], outputs, self.stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 9 if self.opset < 21 else 11
        return model

    def _value(self, name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, COLUMNS])

    def _node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, list(inputs), [name], name=f"n_{name}", **attributes)
        )
        return name

    def _constant(self, *shape: int, scale: float = 1.0) -> str:
        name = f"c{len(self.stored)}"
        value = (scale * self.random.standard_normal(shape)).astype(np.float32)
        self.stored.append(numpy_helper.from_array(value, name))
        return name

    def _integers(self, *values: int) -> str:
        name = f"c{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def _any(self) -> str:
        return str(self.random.choice(self.tensors))

    def _add(self) -> None:
        kind = int(self.random.integers(12))
        makers = (
            self._unary, self._unary, self._binary, self._binary, self._with_constant,
            self._matrix, self._normalized, self._moved, self._reduced, self._attention,
            self._power, self._decomposed,
        )  # fmt: skip
        self.tensors.append(makers[kind]())

    def _unary(self) -> str:
        return self._node(str(self.random.choice(UNARY)), [self._any()])

    def _binary(self) -> str:
        return self._node(str(self.random.choice(BINARY)), [self._any(), self._any()])

    def _with_constant(self) -> str:
        op = str(self.random.choice([*BINARY, "Div", "PRelu"]))
        return self._node(op, [self._any(), self._constant(COLUMNS)])

    def _matrix(self) -> str:
        weight = self._constant(COLUMNS, COLUMNS)
        if self.random.random() < 0.5:
            return self._node("MatMul", [self._any(), weight])
        return self._node("Gemm", [self._any(), weight, self._constant(COLUMNS)], transB=1)

    def _normalized(self) -> str:
        parameters = [self._constant(COLUMNS), self._constant(COLUMNS)]
        return self._node("LayerNormalization", [self._any(), *parameters], epsilon=1e-5)

    def _moved(self) -> str:
        choice = int(self.random.integers(3))
        source = self._any()
        if choice == 0:
            turned = self._node("Transpose", [source], perm=[1, 0])
            return self._node("Reshape", [turned, self._integers(ROWS, COLUMNS)])
        if choice == 1:
            joined = self._node("Concat", [source, self._any()], axis=0)
            return self._node(
                "Slice", [joined, self._integers(1), self._integers(1 + ROWS), self._integers(0)]
            )
        return self._node("Gather", [source, self._integers(2, 0, 1)], axis=0)

    def _reduced(self) -> str:
        source = self._any()
        op = str(self.random.choice(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"]))
        small = self._node(op, [source, self._integers(1)], keepdims=1)
        return self._node("Sub", [source, small])

    def _attention(self) -> str:
        query, key, value = self._any(), self._any(), self._any()
        turned = self._node("Transpose", [key], perm=[1, 0])
        shares = self._node("Softmax", [self._node("MatMul", [query, turned])], axis=-1)
        return self._node("MatMul", [shares, value])

    def _power(self) -> str:
        self.stored.append(numpy_helper.from_array(np.float32(self.random.choice([2.0, 3.0])),
                                                   name := f"c{len(self.stored)}"))  # fmt: skip
        return self._node("Pow", [self._any(), name])

    def _decomposed(self) -> str:
        """A normalization, or a softmax, as exporters decompose them."""
        source = self._any()
        if self.random.random() < 0.5:
            largest = self._node("ReduceMax", [source, self._integers(1)], keepdims=1)
            shares = self._node("Exp", [self._node("Sub", [source, largest])])
            total = self._node("ReduceSum", [shares, self._integers(1)], keepdims=1)
            return self._node("Div", [shares, total])
        mean = self._node("ReduceMean", [source, self._integers(1)], keepdims=1)
        centered = self._node("Sub", [source, mean])
        square = self._node("Mul", [centered, centered])
        variance = self._node("ReduceMean", [square, self._integers(1)], keepdims=1)
        self.stored.append(numpy_helper.from_array(np.float32(1e-5), eps := f"c{len(self.stored)}"))
        root = self._node("Sqrt", [self._node("Add", [variance, eps])])
        return self._node("Div", [centered, root])
