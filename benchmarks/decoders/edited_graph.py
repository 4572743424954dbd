"""The graph of an exported decoder, with the places where faults are planted.

Places are found by the structure of the graph, from the names of its caches on; nothing depends on
the names of its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper


class EditedGraph:
    """An ONNX graph that is changed in place; ``changed`` are the names of the nodes at fault."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model, self.graph = model, model.graph
        self.changed: list[str] = []

    # What is there.

    def producer(self, tensor: str) -> onnx.NodeProto:
        """The node that computes a tensor."""
        return next(node for node in self.graph.node if tensor in node.output)

    def readers(self, tensor: str) -> list[onnx.NodeProto]:
        """The nodes that read a tensor."""
        return [node for node in self.graph.node if tensor in node.input]

    def reader(self, tensor: str, op: str) -> onnx.NodeProto:
        """The only node of a kind that reads a tensor."""
        (found,) = (node for node in self.readers(tensor) if node.op_type == op)
        return found

    def above(self, tensor: str, *ops: str) -> onnx.NodeProto:
        """The nearest node of one of these kinds that a tensor follows from."""
        level, seen = [tensor], set()
        while level:
            nodes = [n for n in self.graph.node if set(n.output) & set(level)]
            found = [node for node in nodes if node.op_type in ops]
            if found:
                return found[-1]
            seen.update(level)
            level = [name for node in nodes for name in node.input if name not in seen]
        raise LookupError(ops)

    def all(self, op: str) -> list[onnx.NodeProto]:
        """All nodes of a kind, in order."""
        return [node for node in self.graph.node if node.op_type == op]

    def constant(self, name: str) -> np.ndarray:
        """The numbers of a constant."""
        (found,) = (each for each in self.graph.initializer if each.name == name)
        return numpy_helper.to_array(found).copy()

    def number(self, name: str) -> float:
        """The only number of a constant."""
        return float(self.constant(name).reshape(-1)[0])

    def is_constant(self, name: str) -> bool:
        """Whether a tensor is stored."""
        return any(each.name == name for each in self.graph.initializer)

    # Changes.

    def store(self, name: str, array: np.ndarray) -> None:
        """Other numbers for a constant."""
        for each in self.graph.initializer:
            if each.name == name:
                each.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))

    def new_constant(self, name: str, array: np.ndarray) -> str:
        """A further constant."""
        self.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def rewire(self, node: onnx.NodeProto, place: int, tensor: str) -> None:
        """Let a node read another tensor; it is at fault."""
        node.input[place] = tensor
        self.mark(node)

    def mark(self, *nodes: onnx.NodeProto) -> None:
        """Nodes at fault."""
        self.changed += [node.name for node in nodes]

    def insert(
        self,
        before: onnx.NodeProto,
        op: str,
        inputs: Sequence[str],
        output: str,
        **attributes: object,
    ) -> str:
        """A further node before another one; it is at fault. The tensor that it computes."""
        node = helper.make_node(op, list(inputs), [output], name=f"planted_{output}", **attributes)
        place = next(i for i, each in enumerate(self.graph.node) if each.name == before.name)
        self.graph.node.insert(place, node)
        self.mark(node)
        return output

    def remove(self, node: onnx.NodeProto) -> None:
        """Take a node out of the graph."""
        self.graph.node.remove(node)

    # Places of a decoder.

    @property
    def head_size(self) -> int:
        """How many numbers a head of keys has."""
        (keys,) = (each for each in self.graph.input if each.name == "past_key_values.0.key")
        return int(keys.type.tensor_type.shape.dim[3].dim_value)

    def cache(self, layer: int, part: str) -> onnx.NodeProto:
        """The node that appends new positions to a cache."""
        return self.producer(f"present.{layer}.{part}")

    def rotation(self, layer: int) -> onnx.NodeProto:
        """The node that joins the two halves of the keys, the second one negated."""
        turned = self.producer(self.cache(layer, "key").input[1])
        sine = next(
            node
            for node in map(self.producer, turned.input)
            if any(not self.is_constant(n) and self._makes(n) == "Concat" for n in node.input)
        )
        return next(self.producer(n) for n in sine.input if self._makes(n) == "Concat")

    def _makes(self, tensor: str) -> str:
        found = [node.op_type for node in self.graph.node if tensor in node.output]
        return found[0] if found else ""

    def softmax(self, layer: int) -> onnx.NodeProto:
        """The softmax of an attention."""
        return self.all("Softmax")[layer]

    def scores(self, layer: int) -> onnx.NodeProto:
        """The product of queries and keys."""
        return self.above(self.softmax(layer).input[0], "MatMul")

    def epsilon(self, layer: int, *, second: bool) -> onnx.NodeProto:
        """The node that adds epsilon, of the first or the second normalization of a layer."""
        roots = self.all("Sqrt")
        return self.producer(roots[2 * layer + second].input[0])

    def norm(self, layer: int) -> onnx.NodeProto:
        """The node that multiplies by the weights of the first normalization of a layer."""
        scaled = self.reader(self.all("Reciprocal")[2 * layer].output[0], "Mul")
        return self.reader(scaled.output[0], "Mul")

    def gate(self, layer: int) -> onnx.NodeProto:
        """The sigmoid of a feed-forward network."""
        return self.all("Sigmoid")[layer]

    def linear(self, layer: int, place: int) -> onnx.NodeProto:
        """A linear node of a layer: query, key, value, out, gate, up, down."""
        weighted = [
            node
            for node in self.graph.node
            if node.op_type in ("MatMul", "MatMulNBits", "MatMulInteger")
            and self.is_constant(node.input[1])
        ]
        return weighted[7 * layer + place]

    def residual(self, layer: int) -> onnx.NodeProto:
        """The node that adds what a feed-forward network computed."""
        return self.reader(self.linear(layer, 6).output[0], "Add")
