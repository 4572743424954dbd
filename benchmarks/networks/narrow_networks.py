"""Small networks that lose something in float16, each by another mechanism, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowNetwork:
    """A model and inputs as it would get them."""

    name: str
    model: Callable[[], onnx.ModelProto]
    shape: tuple[int, ...]
    scale: float = 1.0

    def inputs(self, random: np.random.Generator) -> Mapping[str, Array]:
        """One sample."""
        return {"x": (self.scale * random.standard_normal(self.shape)).astype(np.float32)}


class Writer:
    """Nodes one after the other on a stream of values."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def add(self, op: str, *inputs: str | Array | float, **attributes: Any) -> str:
        """A node; arrays and numbers become constants. Returns the name of its result."""
        place = len(self.nodes)
        names = []
        for at, each in enumerate(inputs):
            if isinstance(each, str):
                names.append(each)
                continue
            name = f"c{place}_{at}"
            integers = isinstance(each, np.ndarray) and each.dtype.kind == "i"
            self.constants[name] = np.asarray(each, np.int64 if integers else np.float32)
            names.append(name)
        made = f"t{place}"
        self.nodes.append(helper.make_node(op, names, [made], f"{op}_{place}", **attributes))
        return made

    def dense(self, x: str, rows: int, columns: int, factor: float = 1.0) -> str:
        """A product by random weights that keeps the size of numbers, times a factor."""
        weights = factor * self.random.standard_normal((rows, columns)) / np.sqrt(rows)
        return self.add("MatMul", x, weights)

    def normalized(self, x: str, width: int) -> str:
        """A LayerNormalization."""
        return self.add("LayerNormalization", x, np.ones(width), np.zeros(width), axis=-1)

    def model(self, last: str, given: Sequence[int], made: Sequence[int]) -> onnx.ModelProto:
        """The model, whose output is the last value."""
        self.nodes.append(helper.make_node("Identity", [last], ["y"], "result"))
        graph = helper.make_graph(
            self.nodes, "narrow",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, made)],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )  # fmt: skip
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=9)


def residual_stream(factor: float) -> onnx.ModelProto:
    """Four blocks; the second adds numbers that are larger by a factor."""
    made, x = Writer(0), "x"
    for block in range(4):
        y = made.dense(made.normalized(x, 16), 16, 32)
        y = made.dense(made.add("Relu", y), 32, 16, factor if block == 1 else 1.0)
        x = made.add("Add", x, y)
    return made.model(made.normalized(x, 16), (2, 6, 16), (2, 6, 16))


def large_variance() -> onnx.ModelProto:
    """A BatchNormalization whose variance float16 cannot hold."""
    made = Writer(1)
    x = made.add("Conv", "x", 300 * made.random.standard_normal((8, 3, 3, 3)))
    x = made.add("BatchNormalization", x, np.ones(8), np.zeros(8), np.zeros(8), np.full(8, 2e6))
    x = made.add("Conv", made.add("Relu", x), made.random.standard_normal((4, 8, 3, 3)) / 8)
    return made.model(x, (1, 3, 12, 12), (1, 4, 8, 8))


def masked_attention(mask: float) -> onnx.ModelProto:
    """One head whose later positions are hidden by a large negative number."""
    made = Writer(2)
    query, key, value = (made.dense("x", 16, 16) for _ in range(3))
    scores = made.add("MatMul", query, made.add("Transpose", key, perm=[0, 2, 1]))
    scores = made.add("Add", made.add("Mul", scores, 0.25), np.triu(np.full((6, 6), mask), 1))
    x = made.add("MatMul", made.add("Softmax", scores, axis=-1), value)
    return made.model(made.dense(x, 16, 16), (2, 6, 16), (2, 6, 16))


def small_epsilon() -> onnx.ModelProto:
    """A division by a deviation with an epsilon that float16 rounds to zero, on constant rows."""
    made = Writer(3)
    x = made.dense("x", 16, 16, 1e-3)
    mean = made.add("ReduceMean", x, axes=[-1])
    centered = made.add("Sub", x, mean)
    variance = made.add("ReduceMean", made.add("Mul", centered, centered), axes=[-1])
    root = made.add("Sqrt", made.add("Add", variance, 1e-9))
    return made.model(made.dense(made.add("Div", centered, root), 16, 4), (4, 16), (4, 4))


def long_sum() -> onnx.ModelProto:
    """A sum of many squares, which passes the largest number of float16, and its logarithm."""
    made = Writer(4)
    x = made.add("Relu", made.dense("x", 64, 64))
    total = made.add("ReduceSum", made.add("Mul", x, x), np.array([1, 2]), keepdims=0)
    return made.model(made.add("Log", total), (2, 512, 64), (2,))


def convolutions() -> onnx.ModelProto:
    """Six convolutions with nothing special."""
    made, x = Writer(5), "x"
    for at in range(6):
        weights = made.random.standard_normal((8, 3 if at == 0 else 8, 3, 3)) / 6
        x = made.add("Relu", made.add("Conv", x, weights, pads=[1, 1, 1, 1]))
    return made.model(made.add("GlobalAveragePool", x), (1, 3, 16, 16), (1, 8, 1, 1))


NETWORKS = (
    NarrowNetwork(name="BatchNormalization of 2e6", model=large_variance, shape=(1, 3, 12, 12)),
    NarrowNetwork(name="convolutions", model=convolutions, shape=(1, 3, 16, 16)),
    NarrowNetwork(name="residual stream beyond the type", shape=(2, 6, 16),
                  model=lambda: residual_stream(1.2e5)),
    NarrowNetwork(name="residual stream of 2e4", shape=(2, 6, 16),
                  model=lambda: residual_stream(1e4)),
    NarrowNetwork(name="mask of -1e9", model=lambda: masked_attention(-1e9), shape=(2, 6, 16)),
    NarrowNetwork(name="mask of -1e4", model=lambda: masked_attention(-1e4), shape=(2, 6, 16)),
    NarrowNetwork(name="epsilon of 1e-9", model=small_epsilon, shape=(4, 16)),
    NarrowNetwork(name="sum of 32,768 squares", model=long_sum, shape=(2, 512, 64), scale=3.0),
)  # fmt: skip
