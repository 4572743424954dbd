"""Programs that overwrite a tensor which something else sees, or that do more than compute."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.core.model import Graph, Node

_FRESH = frozenset(
    {"conv1d", "conv2d", "conv3d", "convolution", "batch_norm", "linear", "addmm", "matmul", "bmm",
     "mm", "add", "sub", "mul", "div", "relu", "silu", "sigmoid", "hardswish", "hardsigmoid",
     "leaky_relu", "elu", "tanh", "layer_norm", "group_norm", "instance_norm", "max_pool2d",
     "avg_pool2d", "adaptive_avg_pool2d", "cat", "softmax", "gelu", "embedding",
     "conv_transpose2d", "exp", "sqrt", "neg", "mean", "sum"}
)  # fmt: skip
"""Operators whose result is a new tensor, never a view of an argument."""

_COPIES = _FRESH
"""Operators that only read their arguments: no result of theirs shares memory with one."""


def word_of(native: str) -> str:
    """``relu_`` of ``aten.relu_.default``."""
    words = native.split(".")
    return words[1] if words[0] == "aten" and len(words) > 1 else ""


def is_in_place(native: str) -> bool:
    """Whether an operator overwrites its first argument; ``detach_`` changes no element of it."""
    word = word_of(native)
    return word.endswith("_") and not word.startswith("__") and word != "detach_"


def effects(graph: Graph) -> Mapping[str, str]:
    """The nodes that are not functions of their inputs, each with the reason.

    An in-place operator is one if it overwrites a new tensor that nothing reads afterwards, and
    that nothing has taken a view of. Otherwise every node is refused: which of them see the
    change depends on memory that the graph does not show, and the next call may begin with it.
    So is every node of a program with a step that gives nothing: it has an effect, or ends it.
    """
    readers: dict[str, list[int]] = defaultdict(list)
    makers: dict[str, Node] = {}
    for at, node in enumerate(graph.nodes):
        for name in node.inputs:
            readers[name].append(at)
        for name in node.outputs:
            makers[name] = node
    outputs = {spec.name for spec in graph.outputs}
    nested = any(node.bodies for node in graph.nodes)
    for at, node in enumerate(graph.nodes):
        if not any(node.outputs):
            reason = f"{node.name} has an effect instead of an output"
            return {each.name: reason for each in graph.nodes}
        if not is_in_place(node.native_op):
            continue
        if nested or not _harmless(
            graph, node, at, readers=readers, makers=makers, outputs=outputs
        ):
            reason = f"{node.name} overwrites a tensor that something else may see"
            return {each.name: reason for each in graph.nodes}
    return {}


def _harmless(
    graph: Graph,
    node: Node,
    at: int,
    *,
    readers: Mapping[str, list[int]],
    makers: Mapping[str, Node],
    outputs: set[str],
) -> bool:
    if not node.inputs or node.bodies:
        return False
    target = node.inputs[0]
    maker = makers.get(target)
    if maker is None or target in outputs or target in node.inputs[1:]:
        return False
    if any(place > at for place in readers[target]):
        return False
    before = [graph.nodes[place] for place in readers[target] if place < at]
    if any(word_of(each.native_op).rstrip("_") not in _COPIES for each in before):
        return False
    if any(is_in_place(each.native_op) for each in before):
        return False
    if is_in_place(maker.native_op):
        # Its result is the tensor that it overwrote, which the same rule has admitted.
        return word_of(maker.native_op).rstrip("_") in _FRESH
    return word_of(maker.native_op) in _FRESH
