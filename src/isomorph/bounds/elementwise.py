"""Functions of single elements, sums and moved data, on intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.critical_points import CRITICAL
from isomorph.bounds.interval import Interval, clean, hull, unbounded, within
from isomorph.bounds.patterns import bounded_quotient, centered_maximum

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array
    from isomorph.bounds.node_inputs import NodeInputs

_MOST_CORNERS = 3
"""Inputs up to which every combination of their bounds is computed: eight runs of the node."""
_NOT_NEGATIVE = frozenset({"Sigmoid", "Exp", "Softplus", "DequantizeLinear", "Sqrt"})
"""Functions that no runtime computes as a negative number where they are not."""
_SIMPLE = frozenset({"Abs", "Mul", "Square", "Pow", "LeakyRelu", "PRelu"})
"""Functions of products alone, whose error is relative to the result."""
_FACTORS_INSIDE = {"HardSwish": 6.0}
"""Functions that multiply by a number above one and then divide by it."""
_WHOLE_SUMS = frozenset({"ReduceSum", "ReduceMean", "GlobalAveragePool", "Sum", "Mean"})
"""Those in which each element goes into one sum."""


def moved(inputs: NodeInputs) -> list[Interval]:
    """An operator that never rounds and falls nowhere: the node at both ends."""
    low, high = inputs.run(inputs.ends(upper=False), inputs.ends(upper=True))
    return [clean(*pair) for pair in zip(low, high, strict=True)]


def cast(inputs: NodeInputs) -> list[Interval]:
    """The same numbers in another type, which rounds them."""
    return [inputs.rounding.kept(each) for each in moved(inputs)]


def rounded(inputs: NodeInputs) -> list[Interval]:
    """Whole numbers; with decimals, the result is rounded once more."""
    return increasing(inputs) if inputs.attribute("decimals") else moved(inputs)


def increasing(inputs: NodeInputs) -> list[Interval]:
    """One that falls nowhere, and rounds once or a few times."""
    signed = inputs.node.op in _NOT_NEGATIVE
    return [inputs.rounding.results(each, _size(each), keeps_sign=signed) for each in moved(inputs)]


def _size(result: Interval) -> Array:
    """What the error of a function is relative to: near zero, errors of runtimes are absolute."""
    return np.maximum(result.magnitude, 1.0)


def quantized(inputs: NodeInputs) -> list[Interval]:
    """To whole steps of a scale, or back; the scale is known, but for a narrow type's rounding."""
    scale = inputs.interval(1)
    if inputs.interval(2) is not None:
        return lost(inputs)
    if scale is None:
        return increasing(inputs)
    if inputs.node.inputs[1] not in inputs.fixed or not _one_signed(scale):
        return lost(inputs)
    return elementwise(inputs)


def summed(inputs: NodeInputs) -> list[Interval]:
    """A sum or mean with weights that are not negative."""
    sizes = {name: inputs.intervals[name].magnitude for name in inputs.moving}
    low, high, size = inputs.run(inputs.ends(upper=False), inputs.ends(upper=True), sizes)
    results = []
    for pair, most in zip(zip(low, high, strict=True), size, strict=True):
        terms = float(sum(each.size for each in sizes.values()))
        if inputs.node.op in _WHOLE_SUMS:
            terms /= max(1, most.size)
        # A sum of numbers that are not negative is none.
        signed = all(inputs.intervals[name].least >= 0.0 for name in inputs.moving)
        found = inputs.rounding.results(clean(*pair), np.abs(most), terms, keeps_sign=signed)
        # A mean divides the sum, or the terms before: what is added up is at most their number.
        results.append(inputs.rounding.computable(found, np.abs(most) * _divisor(inputs, terms)))
    return results


def _divisor(inputs: NodeInputs, terms: float) -> float:
    """By what a mean divides at most."""
    return 1.0 if inputs.node.op in {"ReduceSum", "Sum", "CumSum"} else terms


def elementwise(inputs: NodeInputs) -> list[Interval]:
    """A function that is monotone in each of its arguments: the node at every corner."""
    names = inputs.moving
    if inputs.repeated or len(names) > _MOST_CORNERS:
        return [unbounded(shape) for shape in inputs.shapes]
    corners = [
        {
            name: inputs.intervals[name].upper if up else inputs.intervals[name].lower
            for name, up in zip(names, ends, strict=True)
        }
        for ends in product((False, True), repeat=len(names))
    ]
    found = inputs.run(*corners)
    results = [hull(each) for each in zip(*found, strict=True)]
    return [inputs.rounding.results(each, keeps_sign=True) for each in results]


def with_critical_points(inputs: NodeInputs) -> list[Interval]:
    """A function of one argument that turns at a few points: the node at both ends and at these."""
    return at_points(inputs, CRITICAL[inputs.node.op])


def monotone(inputs: NodeInputs) -> list[Interval]:
    """A function of one argument that rises or falls everywhere."""
    return at_points(inputs, ())


def at_points(inputs: NodeInputs, points: Sequence[float]) -> list[Interval]:
    """A function that is monotone between these points."""
    name, *parameters = inputs.moving
    if name != inputs.node.inputs[0] or not inputs.fixed >= set(parameters):
        return lost(inputs)
    ends = inputs.intervals[name]
    places = [ends.lower, ends.upper, *(np.clip(at, ends.lower, ends.upper) for at in points)]
    # A parameter that a narrow type rounds: the function is monotone in it as well.
    rounded_to = [
        {each: getattr(inputs.intervals[each], end) for each in parameters}
        for end in (("lower", "upper") if parameters else ("lower",))
    ]
    found = inputs.run(*({name: at, **each} for at in places for each in rounded_to))
    size: Array | float = 0.0
    if inputs.node.op not in _SIMPLE:
        size = np.maximum(np.where(np.isfinite(ends.magnitude), ends.magnitude, 0.0), 1.0)
    reach = _FACTORS_INSIDE.get(inputs.node.op, 1.0) * ends.magnitude
    return [
        inputs.rounding.computable(
            inputs.rounding.results(hull(results), size, keeps_sign=inputs.node.op in _SIMPLE),
            np.where(np.isfinite(ends.magnitude), reach, 0.0),
        )
        for results in zip(*found, strict=True)
    ]


def products(inputs: NodeInputs) -> list[Interval]:
    """A product; one of a tensor with itself is a square."""
    if inputs.repeated:
        return at_points(inputs, (0.0,)) if len(inputs.moving) == 1 else lost(inputs)
    normalized = bounded_quotient(inputs)
    return elementwise(inputs) if normalized is None else [normalized]


def quotients(inputs: NodeInputs) -> list[Interval]:
    """A quotient, whose divisor must not reach zero."""
    if inputs.repeated:
        return lost(inputs)
    normalized = bounded_quotient(inputs)
    if normalized is not None:
        return [normalized]
    divisor = inputs.interval(1)
    if divisor is not None and not _one_signed(divisor):
        return lost(inputs)
    found = elementwise(inputs)
    # A quotient that is rounded to a whole number: the rounding before it may reach the next one.
    whole = "rounding_mode" in inputs.node.attributes or all(map(_near_whole, found))
    return [each.widened(1.0) for each in found] if whole else found


def _near_whole(interval: Interval) -> bool:
    """Whether both bounds of every element are whole numbers, but for rounding."""
    ends = np.stack([interval.lower, interval.upper])
    with np.errstate(invalid="ignore"):
        return bool((np.abs(ends - np.round(ends)) <= 0.01 * np.maximum(np.abs(ends), 1.0)).all())


def reciprocals(inputs: NodeInputs) -> list[Interval]:
    """One over a number that must not reach zero."""
    return elementwise(inputs) if _one_signed(inputs.first) else lost(inputs)


def differences(inputs: NodeInputs) -> list[Interval]:
    """A difference; that of a tensor and its maximum is not positive."""
    if inputs.repeated:
        return lost(inputs)
    (found,) = elementwise(inputs)
    return [centered_maximum(inputs, found)]


def powers(inputs: NodeInputs) -> list[Interval]:
    """A power by a known exponent; by any other, of a positive base."""
    base, exponent = inputs.interval(0), inputs.known(1)
    if len(inputs.node.inputs) == 1 and "self" not in inputs.node.attributes:
        stated = inputs.attribute("exponent", default=2.0)
        exponent = np.asarray(stated) if isinstance(stated, (int, float)) else None
    rounded_exponent = inputs.interval(1)
    if base is not None and rounded_exponent is not None and base.least > 0.0:
        known = inputs.node.inputs[1] in inputs.fixed
        return elementwise(inputs) if known and _one_signed(rounded_exponent) else lost(inputs)
    if base is None or exponent is None or len(inputs.moving) > 1:
        return lost(inputs)
    if exponent.size and (exponent % 1 == 0).all() and (exponent > 0).all():
        return at_points(inputs, (0.0,))
    rising = (exponent > 0).all() and base.least >= 0.0
    return elementwise(inputs) if rising or base.least > 0.0 else lost(inputs)


def on_positive(inputs: NodeInputs) -> list[Interval]:
    """A root or logarithm, which increases where it is defined."""
    return increasing(inputs) if inputs.first.least >= 0.0 else lost(inputs)


def roots_of_reciprocals(inputs: NodeInputs) -> list[Interval]:
    """One over a root, of positive numbers."""
    return elementwise(inputs) if inputs.first.least > 0.0 else lost(inputs)


def between_0_and_1(inputs: NodeInputs) -> list[Interval]:
    """A softmax: shares of a sum."""
    return [
        inputs.rounding.results(within(shape, 0.0, 1.0), 1.0, keeps_sign=True)
        for shape in inputs.shapes
    ]


def log_softmax(inputs: NodeInputs) -> list[Interval]:
    """Not positive, and at least the distance between the ends less the logarithm of the size."""
    ends = inputs.first
    with np.errstate(invalid="ignore"):
        low = ends.least - ends.most - np.log(max(1, ends.lower.size))
    size = float(ends.magnitude.max(initial=1.0))
    return [inputs.rounding.results(within(shape, low, 0.0), size) for shape in inputs.shapes]


def oscillating(inputs: NodeInputs) -> list[Interval]:
    """A sine or cosine."""
    return [inputs.rounding.results(within(shape, -1.0, 1.0), 1.0) for shape in inputs.shapes]


def squared_differences(inputs: NodeInputs) -> list[Interval]:
    """The square of a difference, of operands that broadcast."""
    if len(inputs.moving) != 2 or not all(inputs.interval(place) for place in (0, 1)):
        return lost(inputs)
    one, two = inputs.intervals[inputs.moving[0]], inputs.intervals[inputs.moving[1]]
    with np.errstate(invalid="ignore", over="ignore"):
        most = np.maximum(np.abs(one.upper - two.lower), np.abs(two.upper - one.lower)) ** 2
    return [inputs.rounding.results(clean(np.zeros_like(most), most), terms=2.0, keeps_sign=True)]


def _one_signed(interval: Interval) -> bool:
    return interval.least > 0.0 or interval.most < 0.0


def lost(inputs: NodeInputs) -> list[Interval]:
    """Nothing is known of the results."""
    return [unbounded(shape) for shape in inputs.shapes]
