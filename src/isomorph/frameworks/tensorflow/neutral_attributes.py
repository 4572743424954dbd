"""Attributes under their neutral names, where TensorFlow states the same in another way.

TensorFlow hands axes, permutations and paddings over as tensors. Where these are constants they
are attributes by any other name, and alignment can compare them with another framework's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isomorph.frameworks.tensorflow.program import TfNode

Constants = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class _Input:
    """A word that is read as a constant: a list of numbers, or a single one."""

    name: str
    place: int
    single: bool = False

    def read(self, node: TfNode, constants: Constants) -> dict[str, Any]:
        constant = constants.get(self.tensor(node) or "")
        if constant is None or (self.single and not constant.size):
            return {}
        values = tuple(constant.reshape(-1).tolist())
        return {self.name: values[0] if self.single else values}

    def tensor(self, node: TfNode) -> str | None:
        return node.inputs[self.place] if self.place < len(node.inputs) else None


@dataclass(frozen=True, slots=True)
class _Renamed:
    """A word that TensorFlow has as an attribute of another name."""

    name: str
    native: str

    def read(self, node: TfNode, _: Constants) -> dict[str, Any]:
        return {self.name: node.attributes[self.native]} if self.native in node.attributes else {}


@dataclass(frozen=True, slots=True)
class _Fixed:
    """An attribute that follows from the operator itself."""

    name: str
    value: Any

    def read(self, _node: TfNode, _constants: Constants) -> dict[str, Any]:
        return {self.name: self.value}


class _Group:
    """Depthwise: every channel is a group of its own."""

    name = "group"

    def read(self, node: TfNode, constants: Constants) -> dict[str, Any]:
        kernel = constants.get(node.inputs[1])
        return {} if kernel is None else {self.name: int(kernel.shape[2])}


_Word = _Input | _Renamed | _Fixed | _Group


def neutral_attributes(node: TfNode, constants: Constants) -> dict[str, Any]:
    """The node's own attributes and constant inputs under neutral names."""
    words = _WORDS.get(node.op, ())
    return {key: value for word in words for key, value in word.read(node, constants).items()}


def kept_in(node: TfNode, name: str) -> tuple[str | None, str | None]:
    """Where a neutral word is kept: the node's attribute of another name, or a tensor it reads."""
    for word in _WORDS.get(node.op, ()):
        if word.name == name and isinstance(word, _Renamed):
            return word.native, None
        if word.name == name and isinstance(word, _Input):
            return None, word.tensor(node)
    return None, None


def _number(name: str, place: int) -> _Input:
    return _Input(name, place, single=True)


_REDUCE = (_Input("axes", 1), _Renamed("keepdims", "keep_dims"))
_MATRICES = (_Renamed("transA", "adj_x"), _Renamed("transB", "adj_y"))
_PICK = (_number("axis", 1), _Fixed("keepdims", value=False))
_WORDS: dict[str, tuple[_Word, ...]] = {
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm"), _REDUCE),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _MATRICES),
    "MatMul": (_Renamed("transA", "transpose_a"), _Renamed("transB", "transpose_b")),
    "Transpose": (_Input("perm", 1),),
    "Cast": (_Renamed("to", "DstT"),),
    "Squeeze": (_Renamed("axes", "squeeze_dims"),),
    "Pack": (_Renamed("axis", "axis"),),
    "ConcatV2": (_number("axis", -1),),
    "GatherV2": (_number("axis", 2), _Renamed("batch_dims", "batch_dims")),
    "ExpandDims": (_Input("axes", 1),),
    "ArgMax": _PICK,
    "ArgMin": _PICK,
    "Softmax": (_Fixed("axis", value=-1),),
    "LogSoftmax": (_Fixed("axis", value=-1),),
    "Split": (_number("axis", 0),),
    "SplitV": (_number("axis", 2), _Input("split", 1)),
    "Cumsum": (_number("axis", 1),),
    "ReverseV2": (_Input("axes", 1),),
    "Relu6": (_Fixed("min", value=0.0), _Fixed("max", value=6.0)),
    "ClipByValue": (_number("min", 1), _number("max", 2)),
    "Pad": (_Input("paddings", 1),),
    "PadV2": (_Input("paddings", 1), _number("value", 2)),
    "MirrorPad": (_Input("paddings", 1),),
    "StridedSlice": (_Input("begin", 1), _Input("end", 2), _Input("strides", 3)),
    "Slice": (_Input("begin", 1), _Input("size", 2)),
    "SpaceToBatchND": (_Input("paddings", 2),),
    "BatchToSpaceND": (_Input("crops", 2),),
    "Conv2D": (_Fixed("group", value=1),),
    "DepthwiseConv2dNative": (_Group(),),
    "Square": (_Fixed("exponent", value=2.0),),
    "TopKV2": (_number("k", 1),),
}
