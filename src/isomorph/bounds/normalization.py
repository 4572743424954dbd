"""Operators whose results are bounded whatever they are applied to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.interval import Interval, clean, unbounded, within
from isomorph.bounds.multilinear import sum_of_products

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array
    from isomorph.bounds.node_inputs import NodeInputs

_STEPS = ("x - mean", "square", "mean", "+ epsilon", "root", "quotient", "* factor", "+ offset")
"""The operations in a row of one normalization, as its definition states them."""

NORMALIZATION_ROUNDINGS = float(len(_STEPS))
"""Each of them rounds once; the sums inside the means are counted by their elements."""


def normalization(inputs: NodeInputs) -> Sequence[Interval]:
    """A deviation over the root of the mean square: at most √n, times a factor, plus an offset."""
    if not inputs.attribute("use_input_stats", default=True):
        return [unbounded(shape) for shape in inputs.shapes]
    data = inputs.interval(0)
    if data is None:
        return [unbounded(shape) for shape in inputs.shapes]
    stated = inputs.attribute("epsilon", "eps")
    if stated is not None and float(stated) <= 0.0:
        # Equal elements give a quotient of zeros.
        return [unbounded(shape) for shape in inputs.shapes]
    epsilon = float(stated or 0.0)
    share = _largest_share(inputs, data, epsilon)
    shape = inputs.shapes[0]
    factor, offset = (_parameter(inputs, place, shape) for place in (1, 2))
    size = np.broadcast_to(share * factor, shape) if factor is not None else np.full(shape, share)
    if offset is not None:
        size = size + offset
    terms = NORMALIZATION_ROUNDINGS + math.prod(data.shape)
    # The sum of the squares of deviations, before its mean.
    reach = math.prod(data.shape) * max(1.0, 2.0 * abs(data.least), 2.0 * abs(data.most)) ** 2
    found = inputs.rounding.results(clean(-size, size), size, terms)
    results = [inputs.rounding.computable(found, reach)]
    for extra in inputs.shapes[1:]:
        # The mean, and one over the deviation.
        most = max(abs(data.least), abs(data.most), 1.0 / math.sqrt(epsilon) if epsilon else np.inf)
        results.append(inputs.rounding.results(within(extra, -most, most), terms=terms))
    return results


def _largest_share(inputs: NodeInputs, data: Interval, epsilon: float) -> float:
    """√n of the elements that are normalized together, or less where they hardly differ."""
    weight = inputs.runs.sample.get(inputs.node.input(1))
    count, axis = math.prod(data.shape), inputs.attribute("axis")
    if inputs.node.op in {"LayerNormalization", "RMSNormalization"} and isinstance(axis, int):
        # The weight may have fewer elements, which are those of every row.
        count = math.prod(data.shape[axis:])
    elif inputs.node.op in {"LayerNormalization", "RMSNormalization"} and weight is not None:
        count = int(np.size(weight))
    elif inputs.attribute("normalized_shape") is not None:
        count = math.prod(inputs.attribute("normalized_shape"))
    elif inputs.node.op == "InstanceNormalization":
        count = math.prod(data.shape[1:])
    share = math.sqrt(max(1, count))
    centered = inputs.node.op != "RMSNormalization"
    reach = data.most - data.least if centered else max(abs(data.most), abs(data.least))
    return min(share, reach / math.sqrt(epsilon)) if epsilon > 0.0 else share


def _parameter(inputs: NodeInputs, place: int, shape: tuple[int, ...]) -> Array | None:
    """The size of the factor or the offset of each element; of all, where they do not line up."""
    if not inputs.node.input(place):
        return None
    interval, value = inputs.interval(place), inputs.known(place)
    if interval is not None:
        size = interval.magnitude
    elif value is not None and value.dtype.kind == "f":
        size = np.abs(value) * (1.0 + inputs.rounding.stored) + inputs.rounding.least
    else:
        return np.asarray(np.inf)
    trailing = shape[len(shape) - size.ndim :] == size.shape
    if trailing and inputs.node.op in {"LayerNormalization", "RMSNormalization"}:
        return size
    return np.asarray(np.max(size, initial=0.0))


def attention(inputs: NodeInputs) -> Sequence[Interval]:
    """Means of values, weighted by shares of one: within the values; zero where all are masked."""
    queries, values = inputs.interval(0), inputs.interval(2)
    if queries is None or values is None or len(queries.shape) != len(values.shape):
        return [unbounded(shape) for shape in inputs.shapes]
    earlier = [inputs.interval(place) for place in range(3, len(inputs.node.inputs))]
    least = min(0.0, values.least, *(each.least for each in earlier if each is not None), 0.0)
    most = max(0.0, values.most, *(each.most for each in earlier if each is not None), 0.0)
    known = [inputs.known(place) for place in range(4, len(inputs.node.inputs))]
    for value in known:
        if value is not None and value.dtype.kind == "f" and value.size:
            least, most = min(least, float(value.min())), max(most, float(value.max()))
    terms = float(math.prod(values.shape))
    first = inputs.rounding.results(within(inputs.shapes[0], least, most), terms=terms)
    if _may_hide_all(inputs):
        first = unbounded(inputs.shapes[0])
    first = inputs.rounding.computable(first, sum_of_products(inputs))
    return [first, *(unbounded(shape) for shape in inputs.shapes[1:])]


def _may_hide_all(inputs: NodeInputs) -> bool:
    """Whether a mask may hide every key of a row: the shares of none are NaN in some runtimes."""
    mask, value = inputs.interval(3), inputs.known(3)
    if mask is not None:
        kind = np.asarray(inputs.runs.sample[inputs.node.inputs[3]]).dtype.kind
        hidden = mask.lower <= 0.0 if kind == "b" else np.isneginf(mask.lower)
    elif value is not None:
        hidden = ~value if value.dtype.kind == "b" else np.isneginf(value) | np.isnan(value)
    else:
        return False
    return bool(hidden.all(axis=-1).any()) if hidden.ndim else bool(hidden)


def unit_vectors(inputs: NodeInputs) -> Sequence[Interval]:
    """Vectors of length one."""
    terms = float(math.prod(inputs.first.shape))
    return [
        inputs.rounding.results(within(shape, -1.0, 1.0), terms=terms) for shape in inputs.shapes
    ]
