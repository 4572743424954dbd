"""Packed weights that are a rounding of the reference's with other scales.

Either all scales are off by one number, or those of some blocks each by its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.fault_context import Detail
from isomorph.core.messages import message
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.match.weight_readings import Reading, at_places, fair_numbers, few_places
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.core.trace import Array
    from isomorph.match.blocked_weights import BlockedWeight

_FACTOR_NUMBERS = 64
"""Of fewer numbers than these a common factor may explain an error by chance."""
_BLOCK_NUMBERS = 16
"""The same of a single block: that so many signs agree by chance happens once in 65,536 blocks."""
_FEW_BLOCKS = 4
"""Blocks that are looked at before all of them; what they exclude is excluded."""
_SLACK = 1.0 + OPERATION_ROUNDINGS * unit_roundoff("float32")


def other_scales(blocked: BlockedWeight, sources: Sequence[Array]) -> Iterator[Reading]:
    """All scales times one number, or those of some blocks each times its own.

    A converter may have worked a factor into a whole weight, or one into each channel. Where the
    constant states its scales itself, only those are surely wrong beside which most are right.
    """
    for expected in sources:
        factor = _common_factor(blocked, expected)
        if factor is not None:
            yield Reading(
                weight=replace(blocked, steps=blocked.steps * factor),
                right=Detail.SCALE,
                certain=not blocked.stated,
                words=message("quantization.scales", factor=1.0 / factor),
                fix=message("FIX.multiply_scales", factor=factor),
            )
    for expected in sources:
        factors = _factors(blocked, expected)
        if factors is not None:
            yield Reading(
                weight=replace(blocked, steps=blocked.steps * factors),
                right=Detail.SCALE,
                certain=not blocked.stated or bool(np.median(factors) == 1.0),
                words=_scales_off(blocked, factors),
                fix=message("FIX.own_scales"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allowed:
    """By which number the scale of each element may be multiplied for it to be right.

    ``sizes`` are the steps that each element counts, without its sign. What lies at an end of its
    block may belong beyond it, and not before it.
    """

    sizes: Array
    inside: Array
    least: Array
    most: Array

    @property
    def agree(self) -> bool:
        """Whether some number is allowed everywhere."""
        return bool(np.max(self.least, initial=0.0) <= np.min(self.most, initial=np.inf) * _SLACK)

    def common(self) -> float | None:
        """A number in the middle of those that are allowed everywhere; None where there is none."""
        least, most = float(np.max(self.least)), float(np.min(self.most))
        if not self.inside.any() or not self.agree or not least > 0.0 or not most < np.inf:
            return None
        factor = (least + most) / 2.0
        # A factor that moves no number by more than rounding does is none.
        return factor if float(np.max(self.sizes)) * abs(1.0 - factor) > 0.5 else None


def _allowed(blocked: BlockedWeight, expected: Array) -> _Allowed:
    counts = (blocked.integers - blocked.zeros) * np.sign(blocked.steps)
    sizes, right = np.abs(counts), expected * np.where(counts < 0, -1.0, 1.0)
    counted = sizes >= 1.0
    inside = counted & ~np.isin(blocked.integers, blocked.ends)
    with np.errstate(all="ignore"):
        units = right / np.abs(blocked.steps)
        least = np.where(inside, units / (sizes + 0.5), 0.0)
        # A number that was rounded to zero is at most half a step.
        least = np.where(sizes < 0.5, 2.0 * np.abs(units), least)
        most = np.where(counted, units / (sizes - 0.5), np.inf)
    return _Allowed(sizes=sizes, inside=inside, least=least, most=most)


def _common_factor(blocked: BlockedWeight, expected: Array) -> float | None:
    """The number that makes all scales right, if there is one; a few numbers mostly exclude it."""
    if blocked.integers.size < _FACTOR_NUMBERS:
        return None
    few = few_places(blocked.integers)
    if not _allowed(at_places(blocked, few), expected[few]).agree:
        return None
    return _allowed(blocked, expected).common()


def _factors(blocked: BlockedWeight, expected: Array) -> Array | None:
    """For each element the number that makes the scale of its block right; None if one has none.

    Blocks that are right have one. Few numbers may be explained by chance, so a block needs enough.
    """
    few = _few_blocks(blocked)
    if few is not None and _explained(few.of(blocked), few.taken(expected)) is None:
        return None
    found = _explained(blocked, expected)
    if found is None:
        return None
    nearest = np.clip(1.0, found.least, np.maximum(found.least, found.most))
    moved = ~found.right & (found.sizes * np.abs(1.0 - nearest) > 0.5)
    with np.errstate(invalid="ignore"):
        factors = np.where(found.right, 1.0, (found.least + found.most) / 2.0)
    return factors if moved.any() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _FewBlocks:
    """Places along one axis of a weight that cut no block in two."""

    axis: int
    places: Array

    def taken(self, values: Array) -> Array:
        """The values at these places."""
        return values.take(self.places, axis=self.axis)

    def of(self, blocked: BlockedWeight) -> BlockedWeight:
        """These blocks of a weight."""
        return replace(
            blocked,
            integers=self.taken(blocked.integers),
            zeros=self.taken(blocked.zeros),
            steps=self.taken(blocked.steps),
        )


def _few_blocks(blocked: BlockedWeight) -> _FewBlocks | None:
    """A few whole blocks; None where they would be most of the weight."""
    axis, shape = blocked.axis, blocked.integers.shape
    if axis is not None and blocked.block:
        # Blocks lie along the axis: a place on another one has all of those that pass through it.
        axis = next((place for place in range(len(shape)) if place != axis), None)
    if axis is None or shape[axis] < 2 * _FEW_BLOCKS:
        return None
    return _FewBlocks(axis=axis, places=np.arange(_FEW_BLOCKS) * shape[axis] // _FEW_BLOCKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Explained:
    """Blocks that are right or have one number that makes their scale right.

    At each element: whether its block is right, and the least and the largest of these numbers.
    """

    right: Array
    least: Array
    most: Array
    sizes: Array


def _explained(blocked: BlockedWeight, expected: Array) -> _Explained | None:
    """None if a block is not right, and no number makes it so."""
    allowed, fair = _allowed(blocked, expected), fair_numbers(blocked, expected)
    right = blocked.over_blocks(np.logical_and, fair)
    least = blocked.over_blocks(np.maximum, allowed.least)
    most = blocked.over_blocks(np.minimum, allowed.most)
    enough = blocked.over_blocks(np.add, allowed.inside.astype(np.int64)) >= _BLOCK_NUMBERS
    explained = enough & (least > 0.0) & (least <= most * _SLACK) & np.isfinite(most)
    if not np.all(right | explained):
        return None
    return _Explained(right=right, least=least, most=most, sizes=allowed.sizes)


def _scales_off(blocked: BlockedWeight, factors: Array) -> str:
    """In words how many scales are wrong, and how far off they are."""
    sizes = blocked.over_blocks(np.add, np.ones(factors.shape))
    count, off = round(float(np.sum(1.0 / sizes))), factors != 1.0
    wrong = round(float(np.sum(1.0 / sizes[off])))
    ratios = 1.0 / factors[off]
    low, high = float(ratios.min()), float(ratios.max())
    size = f"{low:.3g}" if np.isclose(low, high) else f"{low:.3g} to {high:.3g}"
    verb = "is" if wrong == 1 else "are"
    return message("quantization.some_scales", wrong=wrong, count=count, verb=verb, size=size)
