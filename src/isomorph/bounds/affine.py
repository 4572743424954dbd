"""Tensors as affine functions of the inputs, with a rest: what plain intervals forget.

An interval knows how far each element may go, and not that two elements move together: the
difference of a tensor and itself has the width of both. An affine form keeps the part of each
element that is a linear function of single inputs. It is exact behind operators that are affine,
and behind a function of single elements it is a line with a distance from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.elementwise import summed
from isomorph.bounds.interval import Interval, clean, point
from isomorph.bounds.multilinear import multilinear
from isomorph.bounds.rounding import TypeRounding
from isomorph.bounds.transformers import normalized_by_constants
from isomorph.core.ops import FUSED

if TYPE_CHECKING:
    from isomorph.bounds.interval import Array
    from isomorph.bounds.node_inputs import NodeInputs

Rule = Callable[["NodeInputs"], "Sequence[Interval]"]

_MOVED = frozenset(
    {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split",
     "Concat", "Expand", "Tile", "Pad", "DepthToSpace", "SpaceToDepth", "Reverse", "Stack",
     "Unstack", "SpaceToBatch", "BatchToSpace"}
)  # fmt: skip
"""Operators that move elements, and round nothing."""
_SUMS: Mapping[str, Rule] = {
    **dict.fromkeys(
        ("ReduceSum", "ReduceMean", "AveragePool", "GlobalAveragePool", "Sum", "Mean"), summed
    ),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "MatMul"), multilinear),
    "BatchNormalization": normalized_by_constants,
}
"""Sums of elements with known weights, and their rules for intervals."""
_STRAIGHT = frozenset({"Add", "Sub", "Neg"})
"""Affine functions of single elements."""
_BENT = frozenset({"Relu", "LeakyRelu", "Abs", "Clip"})
"""Functions of single elements that are straight between a few points."""
_NEVER_ROUNDED = frozenset({"Relu", "Abs", "Clip"})
_FAR = 1e300
"""Beyond the bounds of every Clip that has any."""
_STEPS = ("width", "rise", "slope", "slope · end", "distance", "middle", "slope · center",
          "+ middle")  # fmt: skip
"""The operations in a row by which a line gets its values, the longest of the rules below; the
sum over all slopes is counted by their number."""
_EXACT = TypeRounding(stored=0.0, computed=0.0, least=0.0)
_FLOAT64 = TypeRounding(stored=2.0**-53, computed=2.0**-53, least=0.0)


@dataclass(frozen=True, slots=True)
class AffineForm:
    """``center`` + Σ ``slopes``[k]·ε[k], off by at most ``rest``, for every ε between −1 and 1.

    The ε are shared by all tensors: the first stand for elements of the inputs.
    """

    center: Array
    slopes: Array
    rest: Array

    @property
    def interval(self) -> Interval:
        """The bounds that follow, rounded outward."""
        reach = np.abs(self.slopes).sum(axis=0) + self.rest
        # Float64 rounds each of these sums.
        reach = reach * (1.0 + 2.0**-40) + 2.0**-50 * np.abs(self.center)
        return clean(self.center - reach, self.center + reach)

    @property
    def finite(self) -> bool:
        """Whether every number of it is."""
        return all(bool(np.isfinite(each).all()) for each in (self.center, self.slopes, self.rest))

    def padded(self, count: int) -> AffineForm:
        """The same form with so many slopes; those that are new are zero."""
        new = np.zeros((count - len(self.slopes), *self.center.shape))
        return replace(self, slopes=np.concatenate([self.slopes, new])) if len(new) else self


def constant_form(interval: Interval, count: int) -> AffineForm | None:
    """The form of a tensor of which only an interval is known; None where it has no bounds."""
    if not interval.bounded:
        return None
    slopes = np.zeros((count, *interval.shape))
    return AffineForm(interval.middle, slopes, interval.radius)


def input_forms(box: Mapping[str, Interval]) -> dict[str, AffineForm]:
    """The forms of the inputs: every element that is no single number has an ε of its own."""
    free = {name: np.flatnonzero(~each.is_point.reshape(-1)) for name, each in box.items()}
    count, start, forms = sum(map(len, free.values())), 0, {}
    for name, interval in box.items():
        places = free[name]
        slopes = np.zeros((count, interval.lower.size))
        slopes[start + np.arange(len(places)), places] = interval.radius.reshape(-1)[places]
        start += len(places)
        shape = (count, *interval.shape)
        rest = np.zeros(interval.shape)
        forms[name] = AffineForm(interval.middle, slopes.reshape(shape), rest)
    return forms


def affine_outputs(
    inputs: NodeInputs, forms: Mapping[str, AffineForm]
) -> Sequence[AffineForm] | None:
    """The forms of the outputs of a node, given those of what it reads; None where it has none."""
    node, names = inputs.node, inputs.moving
    if str(node.attributes.get(FUSED) or "NONE") != "NONE":
        return None
    if node.op in _MOVED or (node.op == "Gather" and names == node.inputs[:1]):
        return _moved(inputs, forms)
    if node.op in _STRAIGHT:
        return _straight(inputs, forms)
    if node.op in _SUMS and _known_weights(inputs):
        return _summed(inputs, forms, _SUMS[node.op])
    if node.op == "Mul" and len(node.inputs) == 2:
        return _multiplied(inputs, forms)
    if node.op in _BENT and names == node.inputs[:1]:
        return _chords(inputs, forms[names[0]])
    return None


def _known_weights(inputs: NodeInputs) -> bool:
    """Whether a sum of products has one operand that moves; an offset may move as well."""
    if inputs.node.op == "BatchNormalization":
        return inputs.moving == inputs.node.inputs[:1]
    if _SUMS[inputs.node.op] is not multilinear:
        return True
    return sum(name in inputs.moving for name in inputs.node.inputs[:2]) <= 1


def _lines(inputs: NodeInputs, forms: Mapping[str, AffineForm]) -> list[tuple[Array, Array, Array]]:
    """Of each output: the result at the centers, its slopes, and the result at zero."""
    names = inputs.moving
    count = len(forms[names[0]].slopes)
    used = [k for k in range(count) if any(forms[name].slopes[k].any() for name in names)]
    fed = [{name: forms[name].center for name in names}]
    fed.append({name: np.zeros_like(forms[name].center) for name in names})
    fed += [{name: forms[name].slopes[k] for name in names} for k in used]
    centers, offsets, *moved = inputs.run(*fed)
    found = []
    for place, (center, offset) in enumerate(zip(centers, offsets, strict=True)):
        slopes = np.zeros((count, *center.shape))
        for k, results in zip(used, moved, strict=True):
            slopes[k] = results[place] - offset
        found.append((center, slopes, offset))
    return found


def _moved(inputs: NodeInputs, forms: Mapping[str, AffineForm]) -> list[AffineForm]:
    """Elements in other places; those that a node adds are the same whatever it reads."""
    rests = inputs.run({name: forms[name].rest for name in inputs.moving})[0]
    return [
        AffineForm(center, slopes, rest - offset)
        for (center, slopes, offset), rest in zip(_lines(inputs, forms), rests, strict=True)
    ]


def _straight(inputs: NodeInputs, forms: Mapping[str, AffineForm]) -> list[AffineForm]:
    """Each operand moves a result by its own rest; one that is read twice, by both together."""
    names = inputs.moving
    nothing = {name: np.zeros_like(forms[name].rest) for name in names}
    alone = inputs.run(*({**nothing, name: forms[name].rest} for name in names))
    [(center, slopes, offset)] = _lines(inputs, forms)
    rest = np.sum([np.abs(results[0] - offset) for results in alone], axis=0)
    return [_rounded(inputs, AffineForm(center, slopes, rest), np.abs(offset))]


def _multiplied(inputs: NodeInputs, forms: Mapping[str, AffineForm]) -> list[AffineForm] | None:
    """A product of two forms: what is of second order goes to the rest."""
    operands = []
    for name in inputs.node.inputs:
        form = forms.get(name)
        if form is None:
            value = inputs.runs.sample.get(name)
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
                return None
            count = len(forms[inputs.moving[0]].slopes)
            form = constant_form(point(value), count)
        if form is None:
            return None
        operands.append(form)
    one, two = operands
    rank = max(one.center.ndim, two.center.ndim)
    first, second = _with_rank(one.slopes, rank), _with_rank(two.slopes, rank)
    reach = [np.abs(form.slopes).sum(axis=0) + form.rest for form in (one, two)]
    rest = np.abs(one.center) * two.rest + np.abs(two.center) * one.rest + reach[0] * reach[1]
    form = AffineForm(one.center * two.center, first * two.center + one.center * second, rest)
    if form.center.shape != inputs.shapes[0]:
        return None
    return [_rounded(inputs, form, 0.0)]


def _with_rank(slopes: Array, rank: int) -> Array:
    """Slopes of a tensor that broadcasts: new axes stand before its own, behind that of ε."""
    shape = slopes.shape
    return slopes.reshape(shape[0], *(1,) * (rank + 1 - len(shape)), *shape[1:])


def _rounded(inputs: NodeInputs, form: AffineForm, further: Array | float) -> AffineForm:
    """The form of a result that a run and this evaluation round relative to its size."""
    size = np.abs(form.center) + np.abs(form.slopes).sum(axis=0) + form.rest + further
    error = inputs.rounding.results(Interval(-size, size)).upper - size
    return replace(form, rest=form.rest + error + _own_error(form) * size)


def _own_error(form: AffineForm) -> float:
    """The relative error of this evaluation: each slope is a difference of two results.

    So each rounding counts twice; twice that again is more than (1 + u)ⁿ - 1 for every n here.
    """
    return 4.0 * (len(form.slopes) + len(_STEPS)) * 2.0**-53


def _summed(
    inputs: NodeInputs, forms: Mapping[str, AffineForm], rule: Rule
) -> list[AffineForm] | None:
    """A sum with known weights: its rule for intervals bounds what the rests and rounding add."""
    rests = {name: Interval(-forms[name].rest, forms[name].rest) for name in inputs.moving}
    wide = replace(inputs, intervals={name: forms[name].interval for name in inputs.moving})
    spread = rule(replace(inputs, intervals=rests, rounding=_EXACT))
    run, still = rule(inputs), rule(replace(inputs, rounding=_EXACT))
    evaluated, exact = (rule(replace(wide, rounding=each)) for each in (_FLOAT64, _EXACT))
    found = []
    for place, (center, slopes, offset) in enumerate(_lines(inputs, forms)):
        around = spread[place]
        with np.errstate(invalid="ignore"):
            rest = np.maximum(around.upper - offset, offset - around.lower)
            rest = rest + _widening(run[place], still[place])
            # Each slope is a difference of two evaluations.
            own = 2.0 * (len(slopes) + 1) * _widening(evaluated[place], exact[place])
        found.append(AffineForm(center, slopes, rest + own))
    return found


def _widening(wide: Interval, narrow: Interval) -> Array:
    """The larger of the distances by which both ends moved outward."""
    return np.asarray(np.maximum(wide.upper - narrow.upper, narrow.lower - wide.lower))


def _chords(inputs: NodeInputs, form: AffineForm) -> list[AffineForm] | None:
    """The line through both ends of each interval; the rest is how far the function leaves it."""
    name = inputs.moving[0]
    ends = inputs.intervals[name]
    if not ends.bounded:
        return None
    bends = [np.zeros_like(ends.lower)]
    if inputs.node.op == "Clip":
        far = [{name: np.full_like(ends.lower, at)} for at in (-_FAR, _FAR)]
        bends = [results[0] for results in inputs.run(*far)]
    places = [ends.lower, ends.upper, *(np.clip(at, ends.lower, ends.upper) for at in bends)]
    values = [results[0] for results in inputs.run(*({name: at} for at in places))]
    width = ends.upper - ends.lower
    slope = np.divide(values[1] - values[0], width, out=np.zeros_like(width), where=width > 0.0)
    distances = [value - slope * at for at, value in zip(places, values, strict=True)]
    low, high = np.minimum.reduce(distances), np.maximum.reduce(distances)
    middle = 0.5 * low + 0.5 * high
    away = np.maximum(high - middle, middle - low)
    rest = np.abs(slope) * form.rest + away
    found = AffineForm(slope * form.center + middle, slope * form.slopes, rest)
    size = np.maximum.reduce([np.abs(value) for value in values]) + np.abs(slope) * ends.magnitude
    exact = inputs if inputs.node.op not in _NEVER_ROUNDED else replace(inputs, rounding=_EXACT)
    return [_rounded(exact, found, size)]
