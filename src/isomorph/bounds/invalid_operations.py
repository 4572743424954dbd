"""Whether a node may compute NaN: from NaN that it reads, or by an operation without a result.

Bounds do not tell. A sine is between −1 and 1, and NaN where its argument is infinite; a tangent of
NaN is NaN. Such operations are ∞ − ∞, 0 · ∞, 0 / 0, ∞ / ∞ and functions outside their domain. An
operator without a rule of its own is taken to give NaN wherever it may read or give an infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.interval import point
from isomorph.core.ops import FUSED

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array, Interval
    from isomorph.bounds.node_inputs import NodeInputs

Rule = Callable[["NodeInputs"], bool]


def may_give_nan(inputs: NodeInputs, results: Sequence[Interval]) -> list[bool]:
    """Whether an element of each result may be NaN, for the bounds that a transformer found."""
    if any(inputs.intervals[name].may_be_nan for name in inputs.moving):
        return [True] * len(results)
    rule = _RULES.get(inputs.node.op)
    if rule is None or inputs.node.attributes.get(FUSED) not in {None, "NONE"}:
        lost = _any_infinite(inputs)
        return [lost or each.may_be_nan or bool(each.infinite.any()) for each in results]
    invalid = rule(inputs)
    return [invalid or each.may_be_nan for each in results]


def _any_infinite(inputs: NodeInputs) -> bool:
    return any(inputs.intervals[name].infinite.any() for name in inputs.moving)


def _never(_: NodeInputs) -> bool:
    """The kernel at the ends shows what there is: it is monotone, or selects."""
    return False


def _operand(inputs: NodeInputs, place: int) -> Interval | None:
    """The bounds of an operand, or the constant that it is."""
    interval, value = inputs.interval(place), inputs.known(place)
    if interval is None and value is not None and value.dtype.kind in "biuf":
        return point(value)
    return interval


def _operands(inputs: NodeInputs) -> list[Interval] | None:
    """Both operands, stretched to one shape; None where one is stated in another way."""
    found = [_operand(inputs, place) for place in range(len(inputs.node.inputs))]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) == 2 else None


def _stated_number(inputs: NodeInputs) -> bool:
    """Whether the second operand is a finite number other than zero that the node states.

    An infinity beside it, times it or over it is an infinity.
    """
    stated = inputs.attribute("other")
    return (
        len(inputs.node.inputs) == 1
        and isinstance(stated, (int, float))
        and math.isfinite(stated)
        and abs(stated) > inputs.rounding.least
    )


def _has_zero(inputs: NodeInputs, interval: Interval) -> Array:
    """Whether each number may be zero, or so small that a run may take it for zero."""
    least = inputs.rounding.least
    return np.asarray((interval.lower <= least) & (interval.upper >= -least))


def _added(inputs: NodeInputs) -> bool:
    """A sum or difference of two: infinities meet."""
    operands = _operands(inputs)
    if _stated_number(inputs):
        return False
    if operands is None or inputs.attribute("alpha", default=1) == 0:
        return _any_infinite(inputs)
    one, two = operands
    return bool((one.infinite & two.infinite).any())


def _multiplied(inputs: NodeInputs) -> bool:
    """A product: zero meets an infinity; a square has two equal factors."""
    operands = _operands(inputs)
    if inputs.repeated or _stated_number(inputs):
        return False
    if operands is None:
        return _any_infinite(inputs)
    one, two = operands
    zeros = (_has_zero(inputs, one) & two.infinite) | (one.infinite & _has_zero(inputs, two))
    return bool(zeros.any())


def _divided(inputs: NodeInputs) -> bool:
    """A quotient: two zeros meet, or two infinities."""
    operands = _operands(inputs)
    if inputs.attribute("rounding_mode") is not None and _any_infinite(inputs):
        return True
    if _stated_number(inputs):
        return False
    if operands is None or inputs.repeated:
        return True
    above, below = operands
    zeros = _has_zero(inputs, above) & _has_zero(inputs, below)
    return bool((zeros | (above.infinite & below.infinite)).any())


def _summed(inputs: NodeInputs) -> bool:
    """A sum of many: infinities of both signs meet."""
    read = [inputs.intervals[name] for name in inputs.moving]
    negative = any(np.isneginf(each.lower).any() for each in read)
    positive = any(np.isposinf(each.upper).any() for each in read)
    known = [inputs.known(place) for place in range(len(inputs.node.inputs))]
    infinite = any(value is not None and value.dtype.kind == "f" and np.isinf(value).any()
                   for value in known)  # fmt: skip
    return (negative and positive) or ((negative or positive) and infinite)


def _below_zero(inputs: NodeInputs) -> bool:
    """A root or logarithm of a negative number."""
    return inputs.first.least < 0.0


def _shared(inputs: NodeInputs) -> bool:
    """A softmax: the largest number of a row is infinite, of either sign."""
    axis = inputs.attribute("axis", "dim")
    # Without one it is the last, or the second, by the version of the operator.
    axes = {axis} if isinstance(axis, int) else {-1, min(1, inputs.first.lower.ndim - 1)}
    ends = inputs.first
    if np.isposinf(ends.upper).any():
        return True
    if not np.isneginf(ends.lower).any():
        return False
    return any(bool(np.isneginf(ends.lower).all(axis=each).any()) for each in axes)


_SELECTING = (
    "Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Concat Expand Tile Pad "
    "DepthToSpace SpaceToDepth Trilu Reverse Relu Max Min Clip MaxPool GlobalMaxPool ReduceMax "
    "ReduceMin Sign Floor Ceil Stack Unstack SpaceToBatch BatchToSpace Gather GatherElements "
    "GatherND Where Cast Dropout"
)
_AT_ENDS = (
    "Sigmoid Tanh Exp Erf Erfc Atan Expm1 Abs Neg Square Cosh Sinh QuantizeLinear DequantizeLinear "
    "Reciprocal HardSigmoid LeakyRelu"
)
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys((*_SELECTING.split(), *_AT_ENDS.split()), _never),
    **dict.fromkeys(("Add", "Sub"), _added),
    **dict.fromkeys(("Sqrt", "Rsqrt", "Log", "Log1p"), _below_zero),
    **dict.fromkeys(("ReduceSum", "ReduceMean", "Sum", "Mean", "CumSum"), _summed),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _shared),
    "Mul": _multiplied,
    "Div": _divided,
}
"""By operator: whether it may give NaN though it reads none, and its kernel gave none."""
