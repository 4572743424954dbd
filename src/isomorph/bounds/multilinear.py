"""Products of tensors: convolutions, matrix products, sums of products with an offset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.interval import Interval, clean, unbounded
from isomorph.core.ops import FUSED

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array
    from isomorph.bounds.node_inputs import NodeInputs

_FACTORS = ("alpha", "beta")


def multilinear(inputs: NodeInputs) -> Sequence[Interval]:
    """Bounds around the result of the middles.

    A sum of products of elements with factors that are not negative, F, differs from its value at
    the middles m by at most F(|m| + r) − F(|m|), whatever its operands are and in which order.
    The rounding of the sum is relative to F(|m| + r), and F(1) is the number of its terms.
    """
    factors = [float(inputs.attribute(name, default=1.0) or 0.0) for name in _FACTORS]
    if min(factors) < 0.0 or not all(map(_is_real, _operands(inputs))):
        return [unbounded(shape) for shape in inputs.shapes]
    middles: dict[str, Array] = {}
    sizes: dict[str, Array] = {}
    largest: dict[str, Array] = {}
    for name in _operands_by_name(inputs):
        interval = inputs.intervals.get(name)
        value = np.asarray(inputs.runs.sample[name], np.float64)
        if interval is None:
            # A constant may be stored in the narrow type as well, with one rounding.
            middles[name], sizes[name] = value, np.abs(value)
            largest[name] = np.abs(value) * (1.0 + inputs.rounding.stored) + inputs.rounding.least
        else:
            middles[name], sizes[name] = interval.middle, np.abs(interval.middle)
            largest[name] = sizes[name] + interval.radius
    counted = {name: np.ones_like(value) for name, value in middles.items()}
    fed = [middles, sizes, largest, counted]
    rectified = inputs.node.attributes.get(FUSED) == "RELU"
    if rectified:
        fed.append(_negated(inputs, middles))
    found = inputs.run(*fed)
    results = []
    for place in range(len(found[0])):
        center, size, most, terms = (each[place] for each in found[:4])
        if rectified:
            # An activation that is built in: z = max(z, 0) − max(−z, 0).
            center = center - found[4][place]
        count = float(np.max(terms, initial=1.0)) / min([1.0, *(f for f in factors if f > 0.0)])
        with np.errstate(invalid="ignore", over="ignore"):
            radius = most - size
            result = clean(center - radius, center + radius)
        result = inputs.rounding.results(result, most, count)
        result = inputs.rounding.computable(result, most)
        results.append(result.clipped(0.0, np.inf) if rectified else result)
    return results


def sum_of_products(inputs: NodeInputs) -> float:
    """At most the absolute value of any sum of products of the operands of a node."""
    sizes = [inputs.magnitude(place) for place in range(len(inputs.node.inputs))]
    counts = [np.size(inputs.runs.sample[name]) for name in inputs.node.inputs if name]
    product = math.prod(max(1.0, size) for size in sizes if size is not None)
    return float(max(counts, default=1)) * product + sum(size for size in sizes if size is not None)


def _negated(inputs: NodeInputs, middles: dict[str, Array]) -> dict[str, Array]:
    """The operands for the negated result: the weights and the offset with the other sign."""
    return {
        name: value if name == inputs.node.inputs[0] else -value for name, value in middles.items()
    }


def _operands_by_name(inputs: NodeInputs) -> list[str]:
    """The names of the operands; sizes and other integers are none."""
    names = dict.fromkeys(name for name in inputs.node.inputs if name)
    return [n for n in names if n in inputs.intervals or _is_real(inputs.runs.sample.get(n))]


def _operands(inputs: NodeInputs) -> list[object]:
    """The values of the operands that move, in the sample."""
    return [inputs.runs.sample[name] for name in inputs.moving]


def _is_real(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
