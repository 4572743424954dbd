"""Attributes under their neutral names, where TensorFlow says the same in another way.

TensorFlow hands axes, permutations and paddings over as tensors. Where these are constants they
are attributes by any other name, and alignment can compare them with another framework's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from isomorph.native.tf_program import TfNode

Constants = Mapping[str, np.ndarray[Any, Any]]
_Rule = Callable[[TfNode, Constants], dict[str, Any]]


def neutral_attributes(node: TfNode, constants: Constants) -> dict[str, Any]:
    """What the node's own attributes and constant inputs say, in neutral words."""
    rule = _RULES.get(node.op)
    return {} if rule is None else rule(node, constants)


def _values(node: TfNode, place: int, constants: Constants) -> tuple[int, ...] | None:
    if place >= len(node.inputs) or node.inputs[place] not in constants:
        return None
    return tuple(constants[node.inputs[place]].reshape(-1).tolist())


def _listed(name: str, place: int) -> _Rule:
    def rule(node: TfNode, constants: Constants) -> dict[str, Any]:
        values = _values(node, place, constants)
        return {} if values is None else {name: values}

    return rule


def _single(name: str, place: int) -> _Rule:
    def rule(node: TfNode, constants: Constants) -> dict[str, Any]:
        values = _values(node, place, constants)
        return {name: values[0]} if values else {}

    return rule


def _renamed(**words: str) -> _Rule:
    def rule(node: TfNode, _: Constants) -> dict[str, Any]:
        return {
            mine: node.attributes[theirs]
            for mine, theirs in words.items()
            if theirs in node.attributes
        }

    return rule


def _fixed(**values: Any) -> _Rule:  # noqa: ANN401
    return lambda _node, _constants: dict(values)


def _both(*rules: _Rule) -> _Rule:
    return lambda node, constants: {
        k: v for rule in rules for k, v in rule(node, constants).items()
    }


def _depthwise(node: TfNode, constants: Constants) -> dict[str, Any]:
    kernel = constants.get(node.inputs[1])
    return {} if kernel is None else {"group": int(kernel.shape[2])}


_REDUCE = _both(_listed("axes", 1), _renamed(keepdims="keep_dims"))
_MATRICES = _renamed(transA="adj_x", transB="adj_y")
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm"), _REDUCE),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _MATRICES),
    "MatMul": _renamed(transA="transpose_a", transB="transpose_b"),
    "Transpose": _listed("perm", 1),
    "Cast": _renamed(to="DstT"),
    "Squeeze": _renamed(axes="squeeze_dims"),
    "Pack": _renamed(axis="axis"),
    "ConcatV2": lambda node, constants: _single("axis", len(node.inputs) - 1)(node, constants),
    "GatherV2": _both(_single("axis", 2), _renamed(batch_dims="batch_dims")),
    "ExpandDims": _listed("axes", 1),
    "ArgMax": _both(_single("axis", 1), _fixed(keepdims=False)),
    "ArgMin": _both(_single("axis", 1), _fixed(keepdims=False)),
    "Softmax": _fixed(axis=-1),
    "LogSoftmax": _fixed(axis=-1),
    "Split": _single("axis", 0),
    "SplitV": _both(_single("axis", 2), _listed("split", 1)),
    "Cumsum": _single("axis", 1),
    "ReverseV2": _listed("axes", 1),
    "Relu6": _fixed(min=0.0, max=6.0),
    "ClipByValue": _both(_single("min", 1), _single("max", 2)),
    "Pad": _listed("paddings", 1),
    "PadV2": _both(_listed("paddings", 1), _single("value", 2)),
    "MirrorPad": _listed("paddings", 1),
    "Conv2D": _fixed(group=1),
    "DepthwiseConv2dNative": _depthwise,
    "Square": _fixed(exponent=2.0),
    "TopKV2": _single("k", 1),
}
