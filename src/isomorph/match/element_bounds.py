"""How far an element of a weight may be from the one it was made from.

One rounding to the narrower of two types, and half a quantization step. Elements that converters
rewrite without changing the function (substitutes for infinity, values that a narrow type cannot
represent, weights clipped to the ends of a quantization range) are excluded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import (
    BEYOND_ROUNDINGS,
    CLAMPED_IN_FLOAT16,
    OFF_BY_LITTLE,
    OPERATION_ROUNDINGS,
)
from isomorph.match.mask_constants import VANISHED
from isomorph.oracle.noise import unit_roundoff
from isomorph.oracle.sizes import rms

if TYPE_CHECKING:
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight

_FLOAT32 = unit_roundoff("float32")
_ROUNDINGS = 2 * OPERATION_ROUNDINGS
"""Roundings of float32: a weight may be computed and stored by two operations."""

_FLOAT16 = np.finfo(np.float16)
_LARGEST_FLOAT16 = float(_FLOAT16.max)
"""A larger mask acts as infinity: those of −1e9, −3.4e38 and −inf have the same effect."""
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
"""No float32 number is larger: as a limit it is none."""
_SMALLEST_FLOAT16 = float(_FLOAT16.smallest_normal)
_SPACING_FLOAT16 = float(_FLOAT16.smallest_subnormal)
_READ_AS_TABLE = frozenset(
    {"Mul", "Add", "Sub", "Div", "Neg", "Gather", "GatherND", "GatherElements", "Slice", "Concat",
     "Split", "Expand", "Tile", "Where", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Cast",
     "Identity", "Sin", "Cos"}
)  # fmt: skip
"""Operators that read a table of positions or angles; a learned kernel is read by others."""
_AT_A_TIME, _IN_CACHE = 1 << 20, 1 << 15
"""Elements of a block, and of one whose arithmetic stays in the cache of a core."""

_MASKS = frozenset({"Add", "Sub", "Where", "Concat", "Expand", "Slice", "Gather"})
"""Operators by which a constant hides other data, whatever its size beyond that of the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """The comparison of two weights element by element.

    ``beyond`` marks elements that differ by more than two roundings, ``between`` those between one
    and two, and ``informative`` counts those that agree and are not the most frequent value.
    """

    beyond: Array = field(repr=False)
    between: Array = field(repr=False)
    informative: int

    @property
    def count(self) -> int:
        """How many differ."""
        return int(np.count_nonzero(self.beyond))

    @property
    def equal(self) -> bool:
        """Whether rounding explains every difference."""
        return not self.count

    @property
    def sparse(self) -> bool:
        """Whether few elements differ, and the others differ by rounding alone.

        Learned roundings and rescaled channels leave errors of every size: at least a quarter as
        many lie between one and two roundings as beyond. Where single elements are wrong, the
        others are within one rounding. Where the scale of one channel is wrong, errors of every
        size are in that channel alone.
        """
        count = self.count
        return 0 < 2 * count < self.beyond.size and 4 * self._between_elsewhere() <= count

    @property
    def distinct(self) -> bool:
        """Whether many elements differ, at least a quarter does not, and rounding explains those.

        So many do not agree by chance: in a type of 256 numbers, few of two weights are within one
        rounding of each other. Errors of every size are another rounding of all.
        """
        count = self.count
        agree = self.beyond.size - count
        return (
            0 < count <= 3 * agree
            and 4 * self.informative >= self.beyond.size
            and (4 * self._between_elsewhere() <= count)
        )

    def _between_elsewhere(self) -> int:
        """Return how many elements lie between, in slices of an axis where none lies beyond."""
        fewest = int(np.count_nonzero(self.between))
        for axis in range(self.beyond.ndim):
            others = tuple(each for each in range(self.beyond.ndim) if each != axis)
            hit = self.beyond.any(axis=others)
            if 2 * int(np.count_nonzero(hit)) < hit.size:
                counts = np.count_nonzero(self.between, axis=others)
                fewest = min(fewest, int(np.sum(counts[~hit])))
        return fewest


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The origin of a weight: its type, half its quantization step, the error of computing it.

    ``relative_bound`` is a part of that error that is relative to each number.
    """

    dtype: str
    half_step: float = 0.0
    error_bound: Array | float = 0.0
    relative_bound: float = 0.0


def compare_elements(
    expected: Array,
    actual: Array,
    weight: StoredWeight,
    source: Source,
    integers: Array | None = None,
) -> Elements:
    """Compare the expected and the actual real values of a weight, both float64 of one shape.

    ``integers`` are the stored values of a quantized weight. Large weights are compared in blocks.
    """
    beyond, between = np.zeros(actual.shape, bool), np.zeros(actual.shape, bool)
    informative = 0
    if same_elements(expected, actual):
        return Elements(beyond=beyond, between=between, informative=informative)
    ends = None if integers is None else (int(integers.min()), int(integers.max()))
    scale = _Scale(
        weight=weight, source=source, largest=_largest(expected), steps=_steps(weight), ends=ends,
        unit=_widest_unit(expected, actual, weight, source),
        roundings=1 if _copied(expected, actual, weight, source) else _ROUNDINGS,
    )  # fmt: skip
    for piece in _pieces(actual.shape, _IN_CACHE):
        whole = None if integers is None else integers[piece]
        apart, unsure = scale.apart(expected[piece], actual[piece], whole, piece)
        beyond[piece], between[piece] = apart, unsure
    if beyond.any() and integers is not None and weight.grid is not None:
        beyond &= ~_clipped(expected, actual, integers, weight.grid, beyond)
    if beyond.any() and _computed_again(expected, actual, beyond, weight):
        beyond, between = np.zeros(actual.shape, bool), np.zeros(actual.shape, bool)
    if beyond.any():
        informative = sum(
            informative_numbers(expected[each][~beyond[each]]) for each in _pieces(actual.shape)
        )
    return Elements(beyond=beyond, between=between, informative=informative)


def same_elements(one: Array, two: Array) -> bool:
    """Whether two arrays of one shape are equal; blocks stay in the cache if one is transposed."""
    return all(np.array_equal(one[each], two[each]) for each in _pieces(two.shape, _IN_CACHE))


def _computed_again(expected: Array, actual: Array, beyond: Array, weight: StoredWeight) -> bool:
    """Whether a table was computed by another library: many numbers are off by little as well.

    Of a copy, the numbers that are not wrong are the very same.
    """
    operators = {each.node.op for each in weight.readers}
    if not operators <= _READ_AS_TABLE or weight.grid is not None or len(weight.shape) < 2:
        return False
    count = int(np.count_nonzero(beyond))
    within = int(np.count_nonzero(expected != actual)) - count
    if within < max(OFF_BY_LITTLE, count // OFF_BY_LITTLE):
        return False
    with np.errstate(all="ignore"):
        apart = np.max(np.abs(expected[beyond] - actual[beyond]), initial=0.0)
    return bool(apart <= recomputation_error(weight.shape) * _largest(expected))


def recomputation_error(shape: Sequence[int]) -> float:
    """Return the error of a table of sines in float32, relative to its largest element.

    The angle in row n is n times a frequency. A frequency between the unit roundoff u and 1 is the
    exponential of a number down to ``log(u)``, and the rounding of that number is as many times u
    of the frequency. The product is rounded once more.
    """
    return max(shape, default=1) * (1.0 - math.log(_FLOAT32)) * _FLOAT32


def _copied(expected: Array, actual: Array, weight: StoredWeight, source: Source) -> bool:
    """Whether most numbers are the very same, so that nothing was computed again."""
    plain = weight.grid is None and source.half_step == 0.0 and np.ndim(source.error_bound) == 0
    if not plain or source.error_bound or source.relative_bound or weight.dtype != source.dtype:
        return False
    same = sum(
        informative_numbers(expected[each][expected[each] == actual[each]])
        for each in _pieces(actual.shape)
    )
    return 2 * same > actual.size


def _widest_unit(expected: Array, actual: Array, weight: StoredWeight, source: Source) -> float:
    """Return the rounding of float32, or of float64 where both have more than float32 precision.

    A table of doubles that are all float32 numbers was rounded to float32 before.
    """
    if (weight.dtype, source.dtype) != ("float64", "float64"):
        return _FLOAT32
    with np.errstate(over="ignore"):
        through = (
            np.array_equal(np.float32(each), each, equal_nan=True) for each in (actual, expected)
        )
        return _FLOAT32 if any(through) else unit_roundoff("float64")


def _pieces(shape: tuple[int, ...], at_a_time: int = _AT_A_TIME) -> Iterator[tuple[slice, ...]]:
    """Yield blocks of the first axis that are small enough to be copied a few times."""
    if not shape:
        yield ()
        return
    rows = max(1, at_a_time // max(math.prod(shape[1:]), 1))
    for start in range(0, shape[0], rows):
        yield (slice(start, start + rows),)


def _largest(expected: Array) -> float:
    return max((_largest_in(expected[each]) for each in _pieces(expected.shape)), default=0.0)


def _largest_in(part: Array) -> float:
    """Return the largest size of a finite number."""
    # Without a mask and without a copy this takes a tenth of the time.
    largest = max(float(np.max(part, initial=0.0)), -float(np.min(part, initial=0.0)))
    if math.isfinite(largest):
        return largest
    return float(np.max(np.abs(part), initial=0.0, where=np.isfinite(part)))


def _steps(weight: StoredWeight) -> Array | None:
    return None if weight.grid is None else grid_steps(weight.grid, weight.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Facts about a whole weight that the comparison of its blocks needs."""

    weight: StoredWeight
    source: Source
    largest: float
    steps: Array | None
    ends: tuple[int, int] | None
    unit: float
    """The rounding of the type in which both were computed."""
    roundings: float = _ROUNDINGS

    def apart(
        self, expected: Array, actual: Array, integers: Array | None, piece: tuple[slice, ...]
    ) -> tuple[Array, Array]:
        """Mark the elements more than two roundings apart, and those between one and two."""
        with np.errstate(all="ignore"):
            error = np.abs(expected - actual)
            least = np.abs(expected)
            least *= self._relative
            least += self._absolute
            if np.all(error <= least):
                return np.zeros(error.shape, bool), np.zeros(error.shape, bool)
            same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
            error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
            bound = self._bound(expected, integers, piece)
            beyond = error > BEYOND_ROUNDINGS * bound
            between = (error > bound) & ~beyond
            if beyond.any() or between.any():
                aside = _rewritten(expected, actual, self.weight)
                beyond, between = beyond & ~aside, between & ~aside
        return beyond, between

    @property
    def _relative(self) -> float:
        """The part of every bound that is relative to a number: its roundings."""
        unit = max(map(unit_roundoff, (self.weight.dtype, self.source.dtype)))
        return (unit if unit > _FLOAT32 else 0.0) + self.roundings * self.unit

    @property
    def _absolute(self) -> float:
        """The part of every bound that is the same for all numbers."""
        narrow = "float16" in (self.weight.dtype, self.source.dtype)
        # A difference below the type's resolution at the largest number is not intended.
        resolution = self.unit * min(self.largest, CLAMPED_IN_FLOAT16)
        return self.source.half_step + resolution + (_SPACING_FLOAT16 if narrow else 0.0)

    def _bound(self, expected: Array, integers: Array | None, piece: tuple[slice, ...]) -> Array:
        sizes = np.where(np.isfinite(expected), np.abs(expected), 0.0)
        bound = self._relative * sizes + self._absolute
        if self.source.relative_bound:
            bound = bound + self.source.relative_bound * np.abs(expected)
        bound = bound + _cut(self.source.error_bound, piece)
        if self.steps is not None:
            steps = _cut(self.steps, piece)
            bound = bound + 0.5 * steps
            if integers is not None and self.ends is not None:
                # The ends of an unsymmetric grid are moved by the rounding of its zero point.
                at_end = (integers == self.ends[0]) | (integers == self.ends[1])
                bound = bound + np.where(at_end, 0.5 * steps, 0.0)
        return np.asarray(bound)


def _cut(values: Array | float, piece: tuple[slice, ...]) -> Array | float:
    """Return a block of an array that broadcasts to the whole weight."""
    if isinstance(values, (int, float)) or not values.ndim or values.shape[0] == 1:
        return values
    return np.asarray(values[piece])


def grid_steps(grid: Quantization, shape: tuple[int, ...]) -> Array:
    """The step of each element, as an array that broadcasts to ``shape``."""
    scale = np.asarray(grid.scale, np.float64)
    if scale.size == 1 or grid.axis is None:
        return np.full((1,) * len(shape), float(np.max(scale)))
    axis = grid.axis % max(len(shape), 1)
    return scale.reshape([-1 if each == axis else 1 for each in range(len(shape))])


def grid_ends(grid: Quantization) -> tuple[int, int]:
    """The smallest and the largest integer that the grid's type holds."""
    bits = int("".join(filter(str.isdigit, grid.dtype)) or 8)
    if grid.dtype.startswith("u"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _rewritten(expected: Array, actual: Array, weight: StoredWeight) -> Array:
    """Mark elements that converters write differently without changing the function."""
    aside = _infinite(expected, actual, weight)
    if weight.may_mask and any(each.node.op in _MASKS for each in weight.readers):
        aside |= (expected <= -VANISHED) & (actual <= -VANISHED)
    if weight.dtype == "float16":
        aside |= (actual == 0.0) & (np.abs(expected) < _SMALLEST_FLOAT16)
    return np.asarray(aside)


def _infinite(expected: Array, actual: Array, weight: StoredWeight) -> Array:
    """Mark elements that act as infinity on both sides: masks, limits that are none."""
    same_sign = np.sign(expected) == np.sign(actual)
    least = np.where(same_sign, np.minimum(np.abs(expected), np.abs(actual)), 0.0)
    if unit_roundoff(weight.dtype) > _FLOAT32:
        return np.asarray(least >= CLAMPED_IN_FLOAT16)
    aside = least >= _LARGEST_FLOAT32
    operators = {each.node.op for each in weight.readers}
    if operators & _MASKS:
        aside |= least >= _LARGEST_FLOAT16
    if "Mul" in operators:  # a mask of zeros and ones times −1e9
        aside |= (least >= _LARGEST_FLOAT16) & (expected < 0.0)
    return np.asarray(aside)


def _clipped(
    expected: Array, actual: Array, integers: Array, grid: Quantization, beyond: Array
) -> Array:
    """Mark elements beyond a quantization range that is narrower than the weight on purpose."""
    low, high = grid_ends(grid)
    outward = np.zeros(actual.shape, bool)
    for end, types_end in ((integers.max(), high), (integers.min(), low)):
        here = integers == end
        farther = expected > actual if end == integers.max() else expected < actual
        out = here & farther & beyond
        # A single element at an end that is not the type's own was changed, not clipped.
        if abs(int(end)) >= abs(types_end) - 1 or int(np.count_nonzero(out)) > 1:
            outward |= out
    return outward


def informative_numbers(values: Array) -> int:
    """Count the values that are not the most frequent one: many zeros agree by chance."""
    if not values.size:
        return 0
    _, counts = np.unique(values, return_counts=True)
    return int(values.size - counts.max()) if counts.max() > 1 else int(values.size)


def relative_size(expected: Array, actual: Array, beyond: Array) -> float:
    """Return the error of the differing elements relative to their expected values."""
    with np.errstate(all="ignore"):
        right = expected[beyond]
        apart = float(np.linalg.norm(actual[beyond] - right))
        size = float(np.linalg.norm(right))
        if size == 0.0:
            size = rms(expected[np.isfinite(expected)]) * math.sqrt(right.size)
    return apart / size if size > 0.0 else math.inf
