"""A copy of a model, open for changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .building import names_read, without_unread
from .kernels import Array, attributes


class Editor:
    """Nodes as a list, constants as arrays; ``model`` writes down what became of them."""

    def __init__(self, model: onnx.ModelProto, rng: np.random.Generator) -> None:
        self.rng = rng
        self.source = onnx.ModelProto()
        self.source.CopyFrom(model)
        self.nodes: list[onnx.NodeProto] = list(self.source.graph.node)
        self.constants = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in self.source.graph.initializer
        }
        self.outputs = [item.name for item in self.source.graph.output]
        self.inputs = [item.name for item in self.source.graph.input]
        inferred = onnx.shape_inference.infer_shapes(model).graph
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.kinds: dict[str, int] = {}
        for item in (*inferred.input, *inferred.value_info, *inferred.output):
            tensor = item.type.tensor_type
            self.kinds[item.name] = tensor.elem_type
            if all(dim.HasField("dim_value") for dim in tensor.shape.dim):
                self.shapes[item.name] = tuple(dim.dim_value for dim in tensor.shape.dim)
        for name, value in self.constants.items():
            self.shapes[name] = value.shape
            self.kinds[name] = helper.np_dtype_to_tensor_dtype(value.dtype)
        nodes = [*self.nodes, *(n for node in self.nodes for n in inner_nodes(node))]
        self._taken = {name for node in nodes for name in (node.name, *node.output)}
        self._taken |= {*self.constants, *self.inputs}

    def fresh(self, stem: str) -> str:
        number = 1
        while f"new_{stem}_{number}" in self._taken:
            number += 1
        self._taken.add(f"new_{stem}_{number}")
        return f"new_{stem}_{number}"

    def constant(self, value: Array) -> str:
        name = self.fresh("c")
        self.constants[name] = np.asarray(value)
        return name

    def node(self, op: str, inputs: Sequence[str], output: str | None = None, **stated: Any) -> str:
        """A new node behind all others (order is restored in the end); gives its output."""
        output = output or self.fresh("t")
        made = helper.make_node(op, list(inputs), [output], self.fresh(op), **stated)
        self.nodes.append(made)
        return output

    def remove(self, node: onnx.NodeProto) -> None:
        self.nodes = [other for other in self.nodes if other is not node]

    def maker(self, name: str) -> onnx.NodeProto | None:
        return next((node for node in self.nodes if name in node.output), None)

    def readers(self, name: str) -> list[onnx.NodeProto]:
        return [node for node in self.nodes if name in names_read(node)]

    def only_reader(self, name: str) -> onnx.NodeProto | None:
        readers = self.readers(name)
        return readers[0] if len(readers) == 1 and name not in self.outputs else None

    def of(self, *ops: str) -> list[onnx.NodeProto]:
        """The nodes of these operators, in random order."""
        found = [node for node in self.nodes if node.op_type in ops]
        return [found[i] for i in self.rng.permutation(len(found))]

    def computed(self) -> list[str]:
        """What depends on an input, in the order of the nodes."""
        found = set(self.inputs)
        for node in in_order(self.nodes, [*self.inputs, *self.constants]):
            if names_read(node) & found:
                found |= set(filter(None, node.output))
        return [name for node in self.nodes for name in node.output if name in found]

    def rank(self, name: str) -> int | None:
        return len(self.shapes[name]) if name in self.shapes else None

    def is_float32(self, name: str) -> bool:
        return self.kinds.get(name) == onnx.TensorProto.FLOAT

    def insert_behind(self, name: str) -> str:
        """A new name for what makes this tensor, so that new nodes can make it from that."""
        maker, moved = self.maker(name), self.fresh("before")
        if maker is None:
            raise KeyError(name)
        maker.output[:] = [moved if each == name else each for each in maker.output]
        self.shapes[moved] = self.shapes.get(name, ())
        self.kinds[moved] = self.kinds.get(name, 0)
        return moved

    def model(self) -> onnx.ModelProto:
        graph = self.source.graph
        ordered = in_order(self.nodes, [*self.inputs, *self.constants])
        ordered = without_unread(ordered, self.outputs)
        kept = [copied(node) for node in ordered]
        del graph.node[:], graph.initializer[:], graph.value_info[:]
        graph.node.extend(kept)
        read = {name for node in kept for name in names_read(node)} | set(self.outputs)
        graph.initializer.extend(
            numpy_helper.from_array(value, name)
            for name, value in self.constants.items()
            if name in read
        )
        return self.source


def inner_nodes(node: onnx.NodeProto) -> Iterable[onnx.NodeProto]:
    """The nodes of its bodies."""
    for item in node.attribute:
        if item.type == onnx.AttributeProto.GRAPH:
            for inner in item.g.node:
                yield inner
                yield from inner_nodes(inner)


def copied(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


def in_order(nodes: Iterable[onnx.NodeProto], given: Iterable[str]) -> list[onnx.NodeProto]:
    """Each node behind what it reads; otherwise as they stand."""
    waiting, known, ordered = list(nodes), {"", *given}, []
    while waiting:
        ready = [node for node in waiting if names_read(node) <= known]
        if not ready:
            raise ValueError("a cycle, or a tensor that nobody makes")
        chosen = ready[0]
        ordered.append(chosen)
        known |= set(chosen.output)
        waiting = [node for node in waiting if node is not chosen]
    return ordered


def stated(node: onnx.NodeProto, name: str, usual: Any) -> Any:
    return attributes(node).get(name, usual)


def state(node: onnx.NodeProto, name: str, value: Any) -> None:
    """Sets an attribute."""
    kept = [item for item in node.attribute if item.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
