"""What each operator makes of intervals, by its neutral name.

A transformer returns the bounds of every output in real numbers and in the run. An operator that is
not in the table has no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.critical_points import CRITICAL
from isomorph.bounds.elementwise import (
    between_0_and_1,
    cast,
    differences,
    elementwise,
    increasing,
    log_softmax,
    lost,
    monotone,
    moved,
    on_positive,
    oscillating,
    powers,
    products,
    quantized,
    quotients,
    reciprocals,
    roots_of_reciprocals,
    rounded,
    squared_differences,
    summed,
    with_critical_points,
)
from isomorph.bounds.interval import Interval, clean, hull, point, within
from isomorph.bounds.invalid_operations import may_give_nan
from isomorph.bounds.multilinear import multilinear, sum_of_products
from isomorph.bounds.normalization import attention, normalization, unit_vectors
from isomorph.bounds.patterns import averaged_rows
from isomorph.core.ops import BUILT_IN_RANGES, FUSED

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array
    from isomorph.bounds.node_inputs import NodeInputs

Transformer = Callable[["NodeInputs"], "Sequence[Interval]"]


def matrix_products(inputs: NodeInputs) -> Sequence[Interval]:
    """A product of matrices; by shares of one, it is within the rows that are averaged."""
    return [averaged_rows(inputs, each) for each in multilinear(inputs)]


def gathered(inputs: NodeInputs) -> list[Interval]:
    """Elements of a tensor; where the places are not known, any of those along the axis."""
    (shape,) = inputs.shapes
    kind = np.asarray(inputs.runs.sample[inputs.node.outputs[0]]).dtype.kind
    kinds = [np.asarray(inputs.runs.sample[n]).dtype.kind for n in inputs.node.inputs if n]
    # One operator takes the places first.
    place = 0 if kinds[0] == kind else kinds.index(kind)
    table, name = inputs.interval(place), inputs.node.inputs[place]
    if inputs.moving == (name,) and place == 0:
        return moved(inputs)
    if any(kinds[at] == "b" for at in range(len(kinds)) if at != place):
        return lost(inputs)
    table = point(inputs.runs.sample[name]) if table is None else table
    lower, upper = table.lower, table.upper
    rows = table.shape[1:]
    if _selects_rows(inputs) and rows and shape[len(shape) - len(rows) :] == rows:
        least, most = lower.min(axis=0), upper.max(axis=0)
    else:
        least, most = np.asarray(lower.min(initial=np.inf)), np.asarray(upper.max(initial=-np.inf))
    found = clean(np.broadcast_to(least, shape), np.broadcast_to(most, shape))
    # A row that the node leaves out, as that of padding, is zero; a table may be stored narrowly.
    found = Interval(np.minimum(found.lower, 0.0), np.maximum(found.upper, 0.0))
    return [inputs.rounding.kept(found) if kind == "f" else found]


def _selects_rows(inputs: NodeInputs) -> bool:
    """Whether whole rows are selected along the first axis."""
    axis = inputs.attribute("axis", "dim", default=0 if len(inputs.node.inputs) == 2 else None)
    return inputs.node.op == "Gather" and axis == 0 and not inputs.attribute("batch_dims")


def chosen(inputs: NodeInputs) -> list[Interval]:
    """One of two tensors at each element; both where the condition is not known."""
    flags = [n for n in inputs.moving if np.asarray(inputs.runs.sample[n]).dtype.kind == "b"]
    if not flags:
        return moved(inputs)
    fed = []
    for upper in (False, True):
        for flag in (False, True):
            ends = inputs.ends(upper=upper)
            fed.append(ends | {n: np.full(np.shape(ends[n]), flag) for n in flags})
    found = inputs.run(*fed)
    return [hull(each) for each in zip(*found, strict=True)]


def normalized_by_constants(inputs: NodeInputs) -> list[Interval]:
    """Batch normalization in inference: a product and a sum for each channel."""
    if inputs.moving != (inputs.node.inputs[0],):
        return lost(inputs)
    scale, offset, mean = (inputs.known(place) for place in (1, 2, 3))
    if mean is None or inputs.attribute("training", "training_mode", "is_training", default=False):
        return lost(inputs)
    name = inputs.moving[0]
    ends = inputs.intervals[name]
    variance = inputs.known(4)
    error = _variance_error(inputs, variance)
    if error > 0.5:
        return lost(inputs)
    sizes: dict[str, Array] = {name: ends.magnitude, inputs.node.inputs[3]: -np.abs(mean)}
    for place, value in ((1, scale), (2, offset)):
        if value is not None:
            sizes[inputs.node.inputs[place]] = np.abs(value)
    # Each parameter may be stored in the narrow type.
    unit, least = inputs.rounding.stored, inputs.rounding.least
    stored = {each: value * (1.0 + unit) + least for each, value in sizes.items() if each != name}
    stored[name], stored[inputs.node.inputs[3]] = (
        sizes[name],
        -(np.abs(mean) * (1.0 + unit) + least),
    )
    low, high, size, most, center = inputs.run(
        {name: ends.lower}, {name: ends.upper}, sizes, stored, {name: ends.middle}
    )
    if not _is_line(ends, low[0], high[0], center[0]):
        return lost(inputs)
    results = []
    for one, two, exact, wide in zip(low, high, size, most, strict=True):
        found = hull((one, two))
        fits = exact.shape == found.shape
        reach = np.abs(wide) if fits else np.max(np.abs(wide), initial=0.0)
        moved_by = np.abs(wide - exact) if fits else np.max(np.abs(wide - exact), initial=0.0)
        found = inputs.rounding.results(found.widened(moved_by + error * reach), reach)
        results.append(inputs.rounding.computable(found, reach))
    return results


def _variance_error(inputs: NodeInputs, variance: Array | None) -> float:
    """How far, relative to it, one over the root is off where the variance is stored narrowly."""
    epsilon = inputs.attribute("epsilon", "eps", default=0.0)
    if variance is None or not variance.size or not isinstance(epsilon, (int, float)):
        return np.inf
    # 1 / √(1 − r) is at most 1 + r for every r up to one half.
    least = float(np.min(np.asarray(variance, np.float64))) + epsilon
    return inputs.rounding.stored + inputs.rounding.least / least if least > 0.0 else np.inf


def _is_line(ends: Interval, low: Array, high: Array, center: Array) -> bool:
    """Whether the middle gives the middle: statistics of the batch itself would not."""
    if not ends.bounded:
        return False
    scale = np.maximum(np.abs(low), np.abs(high))
    return bool((np.abs(0.5 * (low + high) - center) <= 1e-9 * scale + 1e-12).all())


def lengths(inputs: NodeInputs) -> list[Interval]:
    """The length of vectors, or its square: that of the largest and of the smallest elements."""
    order = inputs.attribute("p", "ord", default=2)
    if inputs.moving != inputs.node.inputs[:1] or not isinstance(order, (int, float)) or order <= 0:
        return lost(inputs)
    (name,) = inputs.moving
    ends = inputs.intervals[name]
    small = np.where((ends.lower <= 0) & (ends.upper >= 0), 0.0,
                     np.minimum(np.abs(ends.lower), np.abs(ends.upper)))  # fmt: skip
    low, high = inputs.run({name: small}, {name: ends.magnitude})
    terms = float(ends.lower.size)
    with np.errstate(over="ignore"):
        # The sum of powers, before its root.
        largest = ends.magnitude.max(initial=1.0)
        reach = 0.0 if np.isinf(order) else terms * largest**order
    results = (inputs.rounding.results(clean(*pair), terms=terms, keeps_sign=True)
               for pair in zip(low, high, strict=True))  # fmt: skip
    return [inputs.rounding.computable(each, reach) for each in results]


def variances(inputs: NodeInputs) -> list[Interval]:
    """A variance or deviation, and a mean: at most the square of the width."""
    ends = inputs.first
    correction = inputs.attribute("correction", default=1) or 0
    count = ends.lower.size / max(1, math.prod(inputs.shapes[0]))
    # The sum of squares is divided by what the correction leaves of the number of elements.
    if correction > 1 or count - correction < 1:
        return lost(inputs)
    with np.errstate(invalid="ignore", over="ignore"):
        width = ends.most - ends.least
        most = max(width * width, width, abs(ends.most), abs(ends.least))
        reach = ends.lower.size * most
    low = min(0.0, ends.least)
    results = (inputs.rounding.results(within(shape, low, most), terms=float(ends.lower.size))
               for shape in inputs.shapes)  # fmt: skip
    return [inputs.rounding.computable(each, reach) for each in results]


def recurrent(inputs: NodeInputs) -> list[Interval]:
    """States of a recurrent layer: shares of tangents and of the first state, added at each step.

    Only the form with a stated size and the usual activations is known.
    """
    if "hidden_size" not in inputs.node.attributes or inputs.attribute("clip", default=0.0):
        return lost(inputs)
    if inputs.attribute("activations") or inputs.attribute("activation_alpha"):
        return lost(inputs)
    start = 1.0
    for place in range(5, 7):
        interval, value = inputs.interval(place), inputs.known(place)
        if interval is not None:
            start = max(start, float(interval.magnitude.max(initial=0.0)))
        elif value is not None:
            start = max(start, float(np.abs(value).max(initial=0.0)))
    most = start + float(max(inputs.first.shape[:2]))
    results = (inputs.rounding.results(within(shape, -most, most)) for shape in inputs.shapes)
    # What goes into the gates adds up products of all operands and of earlier states.
    reach = sum_of_products(inputs) * most
    return [inputs.rounding.computable(each, reach) for each in results]


def resized(inputs: NodeInputs) -> list[Interval]:
    """Interpolation with weights that are not negative."""
    mode = (str(inputs.attribute("mode", default="")) + inputs.node.native_op).lower()
    known = any(word in mode for word in ("nearest", "linear", "area")) and "cubic" not in mode
    return summed(inputs) if known else lost(inputs)


def dropped(inputs: NodeInputs) -> list[Interval]:
    """Dropout in inference."""
    training = inputs.attribute("train", "training", "training_mode", default=False)
    state = inputs.known(2)
    if training or (state is not None and state.any()):
        return lost(inputs)
    return moved(inputs)


_MOVED = (
    "Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Concat Expand Tile Pad "
    "DepthToSpace SpaceToDepth Trilu Reverse Relu Max Min Clip MaxPool GlobalMaxPool ReduceMax "
    "ReduceMin Sign Floor Ceil Stack Unstack SpaceToBatch BatchToSpace"
)
_INCREASING = "Sigmoid Tanh Exp Erf Softplus Softsign Atan Sinh Asinh ReduceLogSumExp Expm1"
_SUMMED = "ReduceSum ReduceMean AveragePool GlobalAveragePool CumSum Mean Sum"

TRANSFORMERS: Mapping[str, Transformer] = {
    **dict.fromkeys(_MOVED.split(), moved),
    **dict.fromkeys(_INCREASING.split(), increasing),
    **dict.fromkeys(_SUMMED.split(), summed),
    **dict.fromkeys(CRITICAL, with_critical_points),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "Einsum"), multilinear),
    "MatMul": matrix_products,
    **dict.fromkeys(
        ("LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization",
         "SimplifiedLayerNormalization"),
        normalization,
    ),
    **dict.fromkeys(("LSTM", "GRU"), recurrent),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND"), gathered),
    **dict.fromkeys(("Sin", "Cos"), oscillating),
    **dict.fromkeys(("ReduceL2", "ReduceL1", "ReduceSumSquare"), lengths),
    **dict.fromkeys(("Sqrt", "Log", "Log1p"), on_positive),
    "Add": elementwise,
    "Neg": elementwise,
    "HardSigmoid": elementwise,
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), quantized),
    "Cast": cast,
    "Round": rounded,
    "Erfc": monotone,
    "Dropout": dropped,
    "FloorDiv": quotients,
    "SquaredDifference": squared_differences,
    "Sub": differences,
    "Mul": products,
    "Div": quotients,
    "Pow": powers,
    "Reciprocal": reciprocals,
    "Rsqrt": roots_of_reciprocals,
    "Softmax": between_0_and_1,
    "LogSoftmax": log_softmax,
    "Where": chosen,
    "BatchNormalization": normalized_by_constants,
    "Variance": variances,
    "LpNormalization": unit_vectors,
    "Attention": attention,
    "Resize": resized,
}  # fmt: skip
"""The operators that have bounds."""

SEVERAL_OPERANDS = frozenset(
    {"Concat", "Stack", "Max", "Min", "Clip", "Sum", "Mean", "Cast", "Identity", "Add", "Sub",
     "Mul", "Div", "FloorDiv", "SquaredDifference", "Pow", "Where", "PRelu", "QuantizeLinear",
     "DequantizeLinear", "Gather", "GatherElements",
     "GatherND",
     "Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", "LayerNormalization", "RMSNormalization",
     "InstanceNormalization", "GroupNormalization", "SimplifiedLayerNormalization", "Attention",
     "LSTM", "GRU"}
)  # fmt: skip
"""Operators that read data at more places than one. Of the others, what else they read are sizes,
axes or places, which must be known."""

DATA_LAST = frozenset({"Split"})
"""Operators that some frameworks give the axis first."""


def bounds_of(inputs: NodeInputs) -> Sequence[Interval] | None:
    """The bounds of every output of a node; None where its operator has none."""
    transformer = TRANSFORMERS.get(inputs.node.op)
    if transformer is None or not _reads_known_sizes(inputs):
        return None
    fused = str(inputs.node.attributes.get(FUSED) or "NONE")
    limits = BUILT_IN_RANGES.get(fused)
    if limits is not None:
        within_limits = (within(shape, *limits) for shape in inputs.shapes)
        reach = sum_of_products(inputs)
        found = [inputs.rounding.computable(inputs.rounding.results(each), reach)
                 for each in within_limits]  # fmt: skip
    elif fused in {"NONE", "RELU"}:
        found = list(transformer(inputs))
    else:
        return None
    lost = may_give_nan(inputs, found)
    return [replace(each, may_be_nan=nan) for each, nan in zip(found, lost, strict=True)]


def _reads_known_sizes(inputs: NodeInputs) -> bool:
    """Whether what a node reads besides its data is known."""
    node = inputs.node
    if node.op in SEVERAL_OPERANDS:
        return True
    places = [at for at, name in enumerate(node.inputs) if name in inputs.intervals]
    return places == [0] or (node.op in DATA_LAST and places == [1])
