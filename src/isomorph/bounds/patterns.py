"""Groups of nodes whose operands depend on each other, so that their bounds are far narrower."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.interval import Interval, point, within
from isomorph.bounds.normalization import NORMALIZATION_ROUNDINGS

if TYPE_CHECKING:
    from isomorph.bounds.node_inputs import NodeInputs
    from isomorph.core.model import Node


def bounded_quotient(inputs: NodeInputs) -> Interval | None:
    """A tensor over the root of its own mean square, or the quotient of a softmax."""
    node = inputs.node
    if len(node.inputs) != 2:
        return None
    places = ((0, 1),) if node.op == "Div" else ((0, 1), (1, 0))
    for above, below in places:
        found = _over_root(inputs, node.inputs[above], node.inputs[below])
        if found is not None:
            return found
    return _softmax_quotient(inputs) if node.op == "Div" else None


def _over_root(inputs: NodeInputs, above: str, below: str) -> Interval | None:
    """The bound √n of x over √(mean of x² + ε): no element is larger than the sum of all squares.

    It holds of the numbers of a run: both sides are computed from the same stored x. What may be
    lost are squares below the smallest number, for which ε must make up.
    """
    root = inputs.producers.get(below)
    if inputs.node.op == "Mul":
        if root is not None and root.op == "Reciprocal":
            root = inputs.producers.get(root.inputs[0])
        elif root is None or root.op != "Rsqrt":
            return None
    if root is None or root.op not in {"Sqrt", "Rsqrt"} or (
        inputs.node.op == "Div" and root.op != "Sqrt"
    ):  # fmt: skip
        return None
    epsilon, mean = 0.0, inputs.producers.get(root.inputs[0])
    if mean is not None and mean.op == "Add":
        epsilon, mean = _offset(inputs, mean)
    if mean is None or mean.op != "ReduceMean" or _squared(inputs, mean.inputs[0]) != above:
        return None
    rounding = inputs.rounding
    if epsilon * (1.0 - rounding.stored) < 3.0 * rounding.least:
        return None
    sample = inputs.runs.sample
    count = np.size(sample[above]) / max(1, np.size(sample[mean.outputs[0]]))
    # A normalization without its deviations, factor and offset: at most as many roundings.
    share = math.sqrt(max(1.0, count)) * (1.0 + rounding.stored) ** NORMALIZATION_ROUNDINGS
    (shape,) = inputs.shapes
    if shape != np.shape(sample[above]):
        return None
    return rounding.results(within(shape, -share, share), terms=count + NORMALIZATION_ROUNDINGS)


def _offset(inputs: NodeInputs, node: Node) -> tuple[float, Node | None]:
    """The smallest constant that is added, and the node that computes the other operand."""
    stated = node.attributes.get("other")
    if isinstance(stated, (int, float)) and len(node.inputs) == 1:
        return float(stated), inputs.producers.get(node.inputs[0])
    for constant, other in (node.inputs, node.inputs[::-1]):
        value = inputs.runs.sample.get(constant)
        if constant in inputs.fixed and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return float(value.min(initial=np.inf)), inputs.producers.get(other)
    return 0.0, None


def _squared(inputs: NodeInputs, name: str) -> str | None:
    """The tensor whose square another is."""
    node = inputs.producers.get(name)
    if node is None:
        return None
    if node.op == "Mul" and len(node.inputs) == 2 and node.inputs[0] == node.inputs[1]:
        return node.inputs[0]
    if node.op == "Square":
        return node.inputs[0]
    if node.op != "Pow":
        return None
    exponent = node.attributes.get("exponent", 2.0)
    if len(node.inputs) > 1:
        value = inputs.runs.sample.get(node.inputs[1])
        if node.inputs[1] not in inputs.fixed or not isinstance(value, np.ndarray):
            return None
        exponent = float(value.reshape(-1)[0]) if value.size == 1 else 0.0
    return node.inputs[0] if exponent == 2.0 and "self" not in node.attributes else None


def centered_maximum(inputs: NodeInputs, found: Interval) -> Interval:
    """The difference of a tensor and its own maximum is not positive."""
    node = inputs.node
    if not _from_maximum(inputs, node):
        return found
    # An operator may subtract the other way round.
    zero, one = (np.zeros(np.shape(inputs.runs.sample[n])) for n in node.inputs)
    ((value,),) = inputs.run({node.inputs[0]: zero, node.inputs[1]: one + 1.0})
    return found.clipped(-np.inf, 0.0) if (value == -1.0).all() else found


def _from_maximum(inputs: NodeInputs, node: Node) -> bool:
    if node.op != "Sub" or len(node.inputs) != 2:
        return False
    maximum = inputs.producers.get(node.inputs[1])
    return (
        maximum is not None
        and maximum.op == "ReduceMax"
        and maximum.inputs[0] == node.inputs[0]
        and maximum.outputs[0] == node.inputs[1]
    )


def _softmax_quotient(inputs: NodeInputs) -> Interval | None:
    """The share of each exponential, of which the largest is one, in their sum."""
    node = inputs.node
    total = inputs.producers.get(node.inputs[1])
    exponential = inputs.producers.get(node.inputs[0])
    if total is None or total.op != "ReduceSum" or total.inputs[0] != node.inputs[0]:
        return None
    if exponential is None or exponential.op != "Exp":
        return None
    difference = inputs.producers.get(exponential.inputs[0])
    if difference is None or not _from_maximum(inputs, difference):
        return None
    (shape,) = inputs.shapes
    return inputs.rounding.results(within(shape, 0.0, 1.0), 1.0, float(math.prod(shape)))


def averaged_rows(inputs: NodeInputs, found: Interval) -> Interval:
    """The product of a softmax and a matrix: means of its rows, so within them."""
    node = inputs.node
    shares = inputs.producers.get(node.inputs[0])
    if shares is None or shares.op != "Softmax" or len(node.inputs) != 2:
        return found
    axis = shares.attributes.get("axis", shares.attributes.get("dim"))
    sample = inputs.runs.sample
    if axis not in (-1, np.ndim(sample[node.inputs[0]]) - 1):
        return found
    if any(value for name, value in node.attributes.items() if name.startswith(("adj", "trans"))):
        return found
    name = node.inputs[1]
    rows = inputs.intervals.get(name) or point(sample[name])
    if rows.lower.ndim < 2:
        return found
    # The shares of a run add up to one but for rounding.
    count = float(rows.shape[-2])
    lower, upper = rows.lower.min(axis=-2, keepdims=True), rows.upper.max(axis=-2, keepdims=True)
    size = np.maximum(np.abs(lower), np.abs(upper)) * (1.0 + count * inputs.rounding.stored)
    mean = Interval(
        np.minimum(lower, 0.0) - count * inputs.rounding.stored * size,
        np.maximum(upper, 0.0) + count * inputs.rounding.stored * size,
    )
    narrow = inputs.rounding.results(mean, size, count)
    return Interval(
        np.maximum(found.lower, np.broadcast_to(narrow.lower, found.shape)),
        np.minimum(found.upper, np.broadcast_to(narrow.upper, found.shape)),
    )
