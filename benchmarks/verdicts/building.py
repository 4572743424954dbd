"""A graph that grows node by node, each evaluated at once: what does not work is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .evaluation import is_float, node_values
from .kernels import Array

OPSET = 20
LARGEST = 1e6
"""Ordinary values stay below this; a step that wants larger ones says so."""


class Refused(Exception):
    """A node that cannot be evaluated, or whose values are of no use."""


class Builder:
    """Nodes, constants and inputs, with the value of every tensor on one set of inputs."""

    def __init__(self, rng: np.random.Generator, stem: str = "") -> None:
        self.rng = rng
        self.values: dict[str, Array] = {}
        self.inputs: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        self.nodes: list[onnx.NodeProto] = []
        self._stem = stem
        self._made = 0

    def input(self, value: Array) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values[name] = value
        return name

    def constant(self, value: Any, kind: Any = np.float32) -> str:
        name = f"{self._stem}c{len(self.constants)}"
        self.constants[name] = self.values[name] = np.asarray(value).astype(kind)
        return name

    def add(
        self, op: str, inputs: Sequence[str], outputs: int = 1, *, wild: bool = False, **stated: Any
    ) -> Any:
        """The name of the output, or a list of names; Refused where the node makes no sense."""
        self._made += 1
        names = [f"{self._stem}t{self._made}_{n}" for n in range(outputs)]
        node = helper.make_node(op, list(inputs), names, f"{self._stem}{op}_{self._made}", **stated)
        try:
            with np.errstate(all="ignore"):
                found = node_values(node, self.values, OPSET)
        except Exception as error:
            raise Refused(op) from error
        for value in found.values():
            if not value.size or value.size > 4096 or value.ndim > 5:
                raise Refused(op)
            if is_float(value.dtype) and not wild:
                sizes = np.abs(value.astype(np.float64))
                if not np.all(sizes < LARGEST):
                    raise Refused(op)
        self.values.update(found)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def shape(self, name: str) -> tuple[int, ...]:
        return self.values[name].shape

    def kind(self, name: str) -> np.dtype:
        return self.values[name].dtype

    def normal(self, *shape: int, scale: float = 1.0, kind: Any = np.float32) -> str:
        return self.constant(self.rng.normal(size=shape) * scale, kind)

    def positive(self, *shape: int, kind: Any = np.float32) -> str:
        return self.constant(self.rng.uniform(0.5, 2.0, size=shape), kind)

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values), np.int64)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def graph(self, outputs: Sequence[str], name: str = "g") -> onnx.GraphProto:
        read = {n for node in self.nodes for n in names_read(node)} | set(outputs)
        return helper.make_graph(
            self.nodes,
            name,
            [value_info(n, v) for n, v in self.inputs.items()],
            [value_info(n, self.values[n]) for n in outputs],
            [numpy_helper.from_array(v, n) for n, v in self.constants.items() if n in read],
        )

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        made = as_model(self.graph(outputs))
        onnx.checker.check_model(made)
        return made


def as_model(graph: onnx.GraphProto) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def value_info(name: str, value: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape)
    )


def names_read(node: onnx.NodeProto) -> set[str]:
    """What a node reads, its bodies included."""
    found = set(filter(None, node.input))
    for item in node.attribute:
        if item.type == onnx.AttributeProto.GRAPH:
            made = {n for inner in item.g.node for n in inner.output}
            made |= {value.name for value in (*item.g.input, *item.g.initializer)}
            inside = {n for inner in item.g.node for n in names_read(inner)}
            found |= (inside | {value.name for value in item.g.output}) - made
    return found


def without_unread(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> list[onnx.NodeProto]:
    """The nodes that some output needs, in their order."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.append(node)
            needed |= names_read(node)
    return kept[::-1]
