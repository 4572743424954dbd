"""ATen operators as ONNX nodes, so that a node that a conversion lost can be put back.

Only what has one meaning in every operator set from 13 on is spelled, or what a newer operator set
has a single operator for. What is not in the table, or uses an argument that the table does not
know, is not put back; a wrong entry would be refused, since every repair is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.onnx_nodes import OnnxNodes

if TYPE_CHECKING:
    from isomorph.core.model import Node

_UNARY = frozenset({
    "Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "HardSwish",
    "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Tan", "Tanh",
})  # fmt: skip
_BINARY = frozenset({
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "MatMul",
    "Max", "Min", "Mul", "Or", "Pow", "Sub",
})  # fmt: skip
_NUMBERS = ("other", "exponent")
_ENDLESS = 2**63 - 1
_REST = -1


def onnx_nodes(node: Node, into: OnnxNodes) -> bool:
    """Write the node's ONNX nodes; False where the table does not have it."""
    if node.op in _UNARY and len(node.inputs) == 1 and _plain(node):
        into.add(node.op, node.inputs, node.outputs)
        return True
    if node.op in _BINARY:
        return _binary(node, into)
    spelled = _SPELLED.get(node.native_op.removeprefix("aten.").split(".")[0])
    return spelled is not None and len(node.outputs) == 1 and spelled(node, into)


def _plain(node: Node) -> bool:
    """Whether every stated argument is the operator's usual one."""
    usual = {"beta": 1, "threshold": 20, "decimals": 0}
    return all(value is None or usual.get(key) == value for key, value in node.attributes.items())


def _binary(node: Node, into: OnnxNodes) -> bool:
    stated = {key: value for key, value in node.attributes.items() if value is not None}
    number = next((stated.pop(word) for word in _NUMBERS if word in stated), None)
    if stated.pop("alpha", 1) != 1 or stated or "rsub" in node.native_op:
        return False
    if "floor_divide" in node.native_op or "floordiv" in node.native_op:
        return False
    reads = list(node.inputs)
    if isinstance(number, (int, float)) and len(reads) == 1:
        reads.append(into.number(number))
    if len(reads) != 2:
        return False
    into.add(node.op, reads, node.outputs)
    return True


def _silu(node: Node, into: OnnxNodes) -> bool:
    gate = into.made("Sigmoid", node.inputs)
    into.add("Mul", (node.inputs[0], gate), node.outputs)
    return True


def _glu(node: Node, into: OnnxNodes) -> bool:
    axis, size = node.attributes.get("dim", -1), into.shape(node.inputs[0])
    if size is None or not size[axis] or size[axis] % 2:
        return False
    half = size[axis] // 2
    value = into.slice(node.inputs[0], axis, 0, half)
    gate = into.made("Sigmoid", (into.slice(node.inputs[0], axis, half, _ENDLESS),))
    into.add("Mul", (value, gate), node.outputs)
    return True


def _gelu(node: Node, into: OnnxNodes) -> bool:
    """The exact form: x/2 times 1 plus the error function of x/√2."""
    if node.attributes.get("approximate", "none") != "none":
        return False
    data = node.inputs[0]
    inner = into.made("Erf", (into.made("Mul", (data, into.number(math.sqrt(0.5)))),))
    half = into.made("Mul", (data, into.number(0.5)))
    into.add("Mul", (half, into.made("Add", (inner, into.number(1.0)))), node.outputs)
    return True


def _with(op: str, names: Mapping[str, str], **fixed: float) -> Callable[[Node, OnnxNodes], bool]:
    """An operator of one input whose parameters have other names in ONNX."""

    def spelled(node: Node, into: OnnxNodes) -> bool:
        stated = {
            names[key]: value
            for key, value in node.attributes.items()
            if key in names and value is not None
        }
        into.add(op, node.inputs[:1], node.outputs, {**fixed, **stated})
        return len(node.inputs) == 1

    return spelled


def _linear(node: Node, into: OnnxNodes) -> bool:
    weight = into.made("Transpose", (node.inputs[1],), {"perm": (1, 0)})
    _then_bias(node, into, "MatMul", (node.inputs[0], weight))
    return True


def _then_bias(node: Node, into: OnnxNodes, op: str, reads: Sequence[str]) -> None:
    if node.input(2):
        into.add("Add", (into.made(op, reads), node.inputs[2]), node.outputs)
    else:
        into.add(op, reads, node.outputs)


def _conv(node: Node, into: OnnxNodes) -> bool:
    stated = node.attributes
    padding = stated.get("padding")
    if stated.get("transposed") or not isinstance(padding, (tuple, list)):
        return False
    attributes = {
        "strides": tuple(stated["stride"]),
        "pads": (*padding, *padding),
        "dilations": tuple(stated["dilation"]),
        "group": stated.get("groups", 1),
    }
    into.add("Conv", [name for name in node.inputs if name], node.outputs, attributes)
    return True


def _conv_transpose(node: Node, into: OnnxNodes) -> bool:
    stated = node.attributes
    attributes = {
        "strides": tuple(stated["stride"]),
        "pads": (*stated["padding"], *stated["padding"]),
        "output_padding": tuple(stated["output_padding"]),
        "dilations": tuple(stated["dilation"]),
        "group": stated.get("groups", 1),
    }
    into.add("ConvTranspose", [name for name in node.inputs if name], node.outputs, attributes)
    return True


def _pad(node: Node, into: OnnxNodes) -> bool:
    shape, pads = into.shape(node.inputs[0]), node.attributes.get("pad")
    mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}.get(
        node.attributes.get("mode") or "constant"
    )
    if shape is None or mode is None or not isinstance(pads, (tuple, list)):
        return False
    begins, ends = [0] * len(shape), [0] * len(shape)
    for place in range(len(pads) // 2):  # PyTorch begins with the last axis
        begins[-1 - place], ends[-1 - place] = pads[2 * place], pads[2 * place + 1]
    amounts = into.integers((*begins, *ends))
    filling = node.attributes.get("value") or 0.0
    reads = (node.inputs[0], amounts, *((into.number(filling),) if mode == "constant" else ()))
    into.add("Pad", reads, node.outputs, {"mode": mode})
    return True


def _permute(node: Node, into: OnnxNodes) -> bool:
    rank = len(node.attributes["dims"])
    order = tuple(axis % rank for axis in node.attributes["dims"])
    into.add("Transpose", node.inputs, node.outputs, {"perm": order})
    return True


def _transpose(node: Node, into: OnnxNodes) -> bool:
    shape = into.shape(node.inputs[0])
    if shape is None:
        return False
    order, rank = list(range(len(shape))), len(shape)
    one, other = node.attributes["dim0"] % rank, node.attributes["dim1"] % rank
    order[one], order[other] = order[other], order[one]
    into.add("Transpose", node.inputs, node.outputs, {"perm": tuple(order)})
    return True


def _roll(node: Node, into: OnnxNodes) -> bool:
    """Each axis cut in two, and the parts in the other order."""
    shifts, axes = node.attributes["shifts"], node.attributes["dims"]
    if len(shifts) != len(axes) or not axes:
        return False
    data = node.inputs[0]
    for place, (shift, axis) in enumerate(zip(shifts, axes, strict=True)):
        cut = -shift
        parts = (into.slice(data, axis, cut, _ENDLESS), into.slice(data, axis, 0, cut))
        if place == len(axes) - 1:
            into.add("Concat", parts, node.outputs, {"axis": axis})
        else:
            data = into.made("Concat", parts, {"axis": axis})
    return True


def _concat(node: Node, into: OnnxNodes) -> bool:
    into.add("Concat", node.inputs, node.outputs, {"axis": node.attributes.get("dim", 0)})
    return True


def _softmax(node: Node, into: OnnxNodes) -> bool:
    if node.attributes.get("dtype") is not None:
        return False
    op = "LogSoftmax" if node.op == "LogSoftmax" else "Softmax"
    into.add(op, node.inputs, node.outputs, {"axis": node.attributes["dim"]})
    return True


def _layer_norm(node: Node, into: OnnxNodes) -> bool:
    if len([name for name in node.inputs if name]) != 3:
        return False
    attributes = {"axis": -len(node.attributes["normalized_shape"]), "epsilon": _epsilon(node)}
    into.add("LayerNormalization", node.inputs, node.outputs, attributes)
    return True


def _batch_norm(node: Node, into: OnnxNodes) -> bool:
    if node.attributes.get("training") or not all(node.inputs) or len(node.inputs) != 5:
        return False
    into.add("BatchNormalization", node.inputs, node.outputs, {"epsilon": _epsilon(node)})
    return True


def _group_norm(node: Node, into: OnnxNodes) -> bool:
    """Groups as channels of an instance normalization, then a scale and a bias of each channel."""
    shape, groups = into.shape(node.inputs[0]), node.attributes["num_groups"]
    if shape is None or len(shape) < 2:
        return False
    ones, zeros = into.numbers(np.ones(groups)), into.numbers(np.zeros(groups))
    grouped = into.made("Reshape", (node.inputs[0], into.integers((0, groups, _REST))))
    attributes = {"epsilon": _epsilon(node)}
    normal = into.made("InstanceNormalization", (grouped, ones, zeros), attributes)
    whole = into.made("Reshape", (normal, into.made("Shape", (node.inputs[0],))))
    per_channel = into.integers((_REST, *(1 for _ in shape[2:])))
    for op, name in zip(("Mul", "Add"), node.inputs[1:3], strict=False):
        if name:
            whole = into.made(op, (whole, into.made("Reshape", (name, per_channel))))
    into.add("Identity", (whole,), node.outputs)
    return True


def _epsilon(node: Node) -> float:
    return float(node.attributes.get("eps", 1e-5))


_SPELLED: Mapping[str, Callable[[Node, OnnxNodes], bool]] = {
    "silu": _silu, "silu_": _silu, "glu": _glu, "gelu": _gelu, "linear": _linear,
    "conv1d": _conv, "conv2d": _conv, "conv3d": _conv,
    "conv_transpose1d": _conv_transpose, "conv_transpose2d": _conv_transpose,
    "conv_transpose3d": _conv_transpose,
    "pad": _pad, "permute": _permute, "transpose": _transpose, "roll": _roll, "cat": _concat,
    "softmax": _softmax, "log_softmax": _softmax, "layer_norm": _layer_norm,
    "batch_norm": _batch_norm, "group_norm": _group_norm,
    "hardsigmoid": _with("HardSigmoid", {}, alpha=1 / 6, beta=0.5),
    "leaky_relu": _with("LeakyRelu", {"negative_slope": "alpha"}, alpha=0.01),
    "celu": _with("Celu", {"alpha": "alpha"}, alpha=1.0),
}  # fmt: skip
