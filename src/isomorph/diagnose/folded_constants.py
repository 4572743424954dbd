"""Constants as a converter folds them: what follows a linear node, worked into its weights.

A normalization, a bias that is added apart, a scale: whatever multiplies or shifts each channel
of a linear node's result by fixed numbers can be part of its weight and bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.ops import RESHAPES
from isomorph.diagnose import node_constants

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
_PASSED_ON = RESHAPES | {"Transpose"}


def folded(context: FaultContext) -> Iterator[tuple[str, Array]]:
    """Weight and bias of the counterpart's linear node with all that follows worked in."""
    for place, linear in enumerate(context.counterparts):
        if linear.op not in _LINEAR:
            continue
        chain = _chain(context, context.counterparts[place + 1 :])
        if chain is None:
            continue
        scale, shift, names = chain
        source = " with ".join([linear.name, *names])
        arrays = [
            _read(context, name) for name in node_constants.floats(context.reference, [linear])
        ]
        known = [each for each in arrays if each is not None]
        biases = [each for each in known if each.ndim == 1 and _fits(each, scale, shift)]
        for weight in (_by_channel(each, scale.size) for each in known if each.ndim >= 2):
            for axis in _channel_axes(weight, scale.size):
                lined_up = [scale.size if each == axis else 1 for each in range(weight.ndim)]
                yield source, weight * scale.reshape(lined_up)
        bias = biases[0] if biases else np.zeros(1)
        whole = bias * scale + shift
        if whole.size > 1 or shift.size > 1:
            yield source, whole


def with_folded(nodes: Sequence[Node]) -> str:
    """``weight with BatchNormalization folded in``: what a weight is called after folding."""
    ops = dict.fromkeys(node.op for node in nodes if node.op not in _LINEAR)
    return message("weight.with_folded", operators=" and ".join(ops) or "a scale")


def _fits(bias: Array, scale: Array, shift: Array) -> bool:
    return all(other.size in (1, bias.size) for other in (scale, shift))


def _by_channel(weight: Array, size: int) -> Array:
    """A depthwise weight that is kept by input and multiplier, with the two joined to channels."""
    joined = weight.shape[-2] * weight.shape[-1]
    if size in weight.shape or size == 1 or joined != size:
        return weight
    return weight.reshape(*weight.shape[:-2], joined)


def _channel_axes(weight: Array, size: int) -> list[int]:
    """The axes that could be the channels of the result; the outer ones are the usual ones."""
    if size == 1:
        return [0]
    outer = sorted(range(weight.ndim), key=lambda axis: min(axis, weight.ndim - 1 - axis))
    return [axis for axis in outer if weight.shape[axis] == size]


def _chain(context: FaultContext, nodes: tuple[Node, ...]) -> tuple[Array, Array, list[str]] | None:
    """What the nodes behind a linear one multiply its result by and add, until one does more."""
    scale, shift = np.ones(1), np.zeros(1)
    names: list[str] = []
    for node in nodes:
        step = _scale_and_shift(context, node)
        if step is None:
            if node.op in _PASSED_ON or not _live(context, node):
                continue
            break
        scale, shift = scale * step[0], shift * step[0] + step[1]
        names.append(node.name)
    return (scale, shift, names) if names else None


def _live(context: FaultContext, node: Node) -> bool:
    """Whether a node sees data at all: what is computed of constants alone is read as one."""
    return any(name and not _fixed(context, name) for name in node.inputs)


def _fixed(context: FaultContext, name: str) -> bool:
    return node_constants.fixed(context.reference, name)


def _scale_and_shift(context: FaultContext, node: Node) -> tuple[Array, Array] | None:
    """One step of the chain; None where it is not one number for each channel."""
    if node.op == "BatchNormalization":
        return _normalized(context, node)
    if node.op not in {"Add", "Sub", "Mul", "Div"} or len(node.inputs) != 2:
        return None
    steady = [place for place, name in enumerate(node.inputs) if _fixed(context, name)]
    value = _read(context, node.inputs[steady[0]]) if len(steady) == 1 else None
    if value is None or value.size != max(value.shape, default=1):
        return None
    number = value.reshape(-1)
    if node.op == "Add":
        return np.ones(1), number
    if node.op == "Mul":
        return number, np.zeros(1)
    if steady[0] != 1:
        return None  # a number divided by the signal is no scale of it
    return (np.ones(1), -number) if node.op == "Sub" else (1.0 / number, np.zeros(1))


def _normalized(context: FaultContext, norm: Node) -> tuple[Array, Array] | None:
    """What a normalization in inference multiplies by and adds."""
    statistics = [each for name in norm.inputs[1:5] if (each := _read(context, name)) is not None]
    epsilon = norm.attributes.get("epsilon", norm.attributes.get("eps"))
    if len(statistics) != 4 or epsilon is None:
        return None
    gamma, beta, mean, variance = statistics
    scale = gamma / np.sqrt(variance + float(epsilon))
    return scale, beta - mean * scale


def _read(context: FaultContext, name: str) -> Array | None:
    value = context.constant(context.reference, name)
    return None if value is None else value.astype(np.float64)
