"""How far a stored number may be from the one it was made from, element by element.

One rounding to the narrower of two types, half a step of a grid, and nothing more. Numbers that
converters rewrite without a change of the function (stand-ins for infinity, what a narrow type
cannot hold, weights clipped to the ends of a grid) are set aside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight

_FLOAT32 = unit_roundoff("float32")
_ROUNDINGS = 8.0
"""Of float32: two on either side, each of a full unit; a weight that was computed has as many."""

_LARGEST_FLOAT16 = 65504.0
"""Beyond it a number stands for infinity: masks of −1e9, −3.4e38 and −inf do the same."""
_CLAMPED = 1e4
"""onnxconverter-common clamps float16 constants here, and BERT's masks are as large."""
_VANISHED = 745.0
"""exp(−745) is no longer a float64: what is added before a softmax acts alike from here on."""
_SMALLEST_FLOAT16 = 2.0**-14
_SPACING_FLOAT16 = 2.0**-24

_AT_A_TIME = 1 << 20

_ADDED = frozenset({"Add", "Sub", "Where", "Concat", "Expand", "Max", "Min", "Slice", "Gather"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """How the elements of two weights compare.

    ``beyond`` marks those that more than two roundings part, ``between`` counts those between one
    and two, and ``telling`` those that agree and are not the one most frequent number.
    """

    beyond: Array = field(repr=False)
    between: int
    telling: int

    @property
    def count(self) -> int:
        """How many differ."""
        return int(np.count_nonzero(self.beyond))

    @property
    def equal(self) -> bool:
        """Whether re-rounding explains all."""
        return not self.count

    @property
    def sparse(self) -> bool:
        """Whether few differ, and the others show plain rounding.

        Learned roundings and rescaled channels leave errors of every size: of those, at least as
        many lie between one and two roundings as a quarter of what lies beyond. Where single
        numbers were spoiled, the rest is within one.
        """
        count = self.count
        return 0 < 2 * count < self.beyond.size and 4 * self.between <= count


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a weight may have been made from: its type, half its step, what computing it lost."""

    dtype: str
    half_step: float = 0.0
    reach: Array | float = 0.0


def compare_elements(
    expected: Array,
    held: Array,
    weight: StoredWeight,
    source: Source,
    integers: Array | None = None,
) -> Elements:
    """Two arrays of one shape in float64: what a weight should hold, and what it stands for.

    ``integers`` are what is stored, where that is on a grid. It is gone through piece by piece.
    """
    beyond = np.zeros(held.shape, bool)
    between = telling = 0
    ends = None if integers is None else (int(integers.min()), int(integers.max()))
    scale = _Scale(
        weight=weight, source=source, largest=_largest(expected), steps=_steps(weight), ends=ends,
        unit=_widest_unit(expected, held, weight, source),
    )  # fmt: skip
    for piece in _pieces(held.shape):
        whole = None if integers is None else integers[piece]
        apart, unsure = scale.apart(expected[piece], held[piece], whole, piece)
        beyond[piece] = apart
        between += int(np.count_nonzero(unsure))
    if beyond.any() and integers is not None and weight.grid is not None:
        beyond &= ~_clipped(expected, held, integers, weight.grid, beyond)
    if beyond.any():
        telling = sum(_telling(expected[each][~beyond[each]]) for each in _pieces(held.shape))
    return Elements(beyond=beyond, between=between, telling=telling)


def _widest_unit(expected: Array, held: Array, weight: StoredWeight, source: Source) -> float:
    """The rounding of float32, or of float64 where both are kept in it and none went through less.

    A table of doubles that are all float32 numbers was rounded to float32 on its way.
    """
    if (weight.dtype, source.dtype) != ("float64", "float64"):
        return _FLOAT32
    with np.errstate(over="ignore"):
        through = (
            np.array_equal(np.float32(each), each, equal_nan=True) for each in (held, expected)
        )
        return _FLOAT32 if any(through) else unit_roundoff("float64")


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Blocks of the first axis, each of so many elements that a few copies of it are no burden."""
    if not shape:
        yield ()
        return
    rows = max(1, _AT_A_TIME // max(math.prod(shape[1:]), 1))
    for start in range(0, shape[0], rows):
        yield (slice(start, start + rows),)


def _largest(expected: Array) -> float:
    sizes = (
        float(np.max(np.abs(part), initial=0.0, where=np.isfinite(part)))
        for part in (expected[each] for each in _pieces(expected.shape))
    )
    return max(sizes, default=0.0)


def _steps(weight: StoredWeight) -> Array | None:
    return None if weight.grid is None else grid_steps(weight.grid, weight.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """What is known of a whole weight when pieces of it are compared."""

    weight: StoredWeight
    source: Source
    largest: float
    steps: Array | None
    ends: tuple[int, int] | None
    unit: float
    """The rounding of the type in which both were computed."""

    def apart(
        self, expected: Array, held: Array, integers: Array | None, piece: tuple[slice, ...]
    ) -> tuple[Array, Array]:
        """The elements that more than two roundings part, and those between one and two."""
        with np.errstate(all="ignore"):
            error = np.abs(expected - held)
            same = (expected == held) | (np.isnan(expected) & np.isnan(held))
            error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
            bound = self._bound(expected, integers, piece)
            beyond = error > 2.0 * bound
            between = (error > bound) & ~beyond
            if beyond.any() or between.any():
                aside = _rewritten(expected, held, self.weight)
                beyond, between = beyond & ~aside, between & ~aside
        return beyond, between

    def _bound(self, expected: Array, integers: Array | None, piece: tuple[slice, ...]) -> Array:
        sizes = np.where(np.isfinite(expected), np.abs(expected), 0.0)
        dtypes = self.weight.dtype, self.source.dtype
        unit = max(map(unit_roundoff, dtypes))
        narrow = unit if unit > _FLOAT32 else 0.0
        bound = (narrow + _ROUNDINGS * self.unit) * sizes + self.source.half_step
        # What the type does not see beside the largest number can be no one's intention.
        bound = bound + self.unit * min(self.largest, _CLAMPED)
        bound = bound + (_SPACING_FLOAT16 if "float16" in dtypes else 0.0)
        bound = bound + _cut(self.source.reach, piece)
        if self.steps is not None:
            steps = _cut(self.steps, piece)
            bound = bound + 0.5 * steps
            if integers is not None and self.ends is not None:
                # The ends of an unsymmetric grid are moved by the rounding of its zero point.
                at_end = (integers == self.ends[0]) | (integers == self.ends[1])
                bound = bound + np.where(at_end, 0.5 * steps, 0.0)
        return np.asarray(bound)


def _cut(values: Array | float, piece: tuple[slice, ...]) -> Array | float:
    """The part of something that broadcasts to the whole."""
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


def _rewritten(expected: Array, held: Array, weight: StoredWeight) -> Array:
    """Numbers that converters write differently and that do the same."""
    alike = np.sign(expected) == np.sign(held)
    least = np.minimum(np.abs(expected), np.abs(held))
    narrow = unit_roundoff(weight.dtype) > _FLOAT32
    aside = alike & (least >= (_CLAMPED if narrow else _LARGEST_FLOAT16))
    if weight.may_mask and any(each.node.op in _ADDED for each in weight.readers):
        aside |= (expected <= -_VANISHED) & (held <= -_VANISHED)
    if weight.dtype == "float16":
        aside |= (held == 0.0) & (np.abs(expected) < _SMALLEST_FLOAT16)
    return np.asarray(aside)


def _clipped(
    expected: Array, held: Array, integers: Array, grid: Quantization, beyond: Array
) -> Array:
    """Numbers beyond the ends of a grid that was made narrower than the weight on purpose."""
    low, high = grid_ends(grid)
    outward = np.zeros(held.shape, bool)
    for end, types_end in ((integers.max(), high), (integers.min(), low)):
        here = integers == end
        farther = expected > held if end == integers.max() else expected < held
        out = here & farther & beyond
        # One number alone at an end that the type goes beyond was not clipped, it was moved.
        if abs(int(end)) >= abs(types_end) - 1 or int(np.count_nonzero(out)) > 1:
            outward |= out
    return outward


def _telling(values: Array) -> int:
    """How many are not the most frequent one: many zeros agree by chance."""
    if not values.size:
        return 0
    _, counts = np.unique(values, return_counts=True)
    return int(values.size - counts.max()) if counts.max() > 1 else int(values.size)


def relative_size(expected: Array, held: Array, beyond: Array) -> float:
    """How far off the differing elements are, as a share of what they should be."""
    with np.errstate(all="ignore"):
        right = expected[beyond]
        apart = float(np.linalg.norm(held[beyond] - right))
        size = float(np.linalg.norm(right))
        if size == 0.0:
            finite = expected[np.isfinite(expected)]
            size = float(np.sqrt(np.mean(np.square(finite)))) * math.sqrt(right.size)
    return apart / size if size > 0.0 else math.inf
