"""Packed weights that are no rounding of the reference's as they are read, and are one otherwise.

A quantizer may round otherwise than to the nearest number, so a weight that is no fair rounding
need not be wrong. One that another reading makes a fair rounding in every number is: the fields of
each byte in the other order, other zero points, scales on the other axis, a common factor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.fault_context import Detail
from isomorph.core.messages import message
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.core.trace import Array
    from isomorph.match.blocked_weights import BlockedWeight

_SHIFTS = (-1, 1, -8, 8, -128, 128)
"""Zero points that are one off, or those of signed for unsigned fields."""
_FACTOR_NUMBERS = 64
"""Of fewer numbers than these a common factor may explain an error by chance."""
_BLOCK_NUMBERS = 16
"""The same of a single block: that so many signs agree by chance happens once in 65,536 blocks."""
_SLACK = 1.0 + OPERATION_ROUNDINGS * unit_roundoff("float32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How packed weights are read; ``right`` is the detail that it corrects, None for none."""

    weight: BlockedWeight
    right: Detail | None = None
    words: str = ""
    fix: str = ""
    certain: bool = True
    """Whether nothing that a right conversion does to a weight reads alike."""
    unrounded: Array | None = field(default=None, repr=False)
    """The numbers that the weights stand for as they are read, had nothing been rounded."""


def misread(blocked: BlockedWeight, sources: Sequence[Array]) -> Reading | None:
    """The first reading that makes weights a rounding of one of these.

    One without a detail stands for weights that none of them explains. None for weights that are
    right as they are read, or where there is nothing that they could be.
    """
    if not sources:
        return None
    before = [fair_numbers(blocked, each) for each in sources]
    if any(each.all() for each in before):
        return None
    for reading in (*_others(blocked), *_scaled(blocked, sources)):
        for expected, fair in zip(sources, before, strict=True):
            if _explains(blocked, reading, expected, fair):
                return replace(reading, unrounded=_unrounded(blocked, reading, expected, fair))
    return Reading(weight=blocked)


def fair_numbers(blocked: BlockedWeight, expected: Array) -> Array:
    """Which numbers are a rounding of the expected ones, or cut off at the end of their block."""
    real, step = blocked.real, blocked.steps
    # The quotient is rounded before it is rounded to a field, and so is a narrow scale.
    unit = OPERATION_ROUNDINGS * unit_roundoff("float32") + unit_roundoff(blocked.scale_dtype)
    reach = 0.5 * np.abs(step) + unit * (np.abs(expected) + np.abs(real))
    beyond = (expected - real) * np.sign(step)
    low, high = blocked.ends
    cut = ((blocked.integers == low) & (beyond < 0)) | ((blocked.integers == high) & (beyond > 0))
    return np.asarray((np.abs(expected - real) <= reach) | cut)


def _explains(blocked: BlockedWeight, reading: Reading, expected: Array, before: Array) -> bool:
    fair = fair_numbers(reading.weight, expected)
    if reading.right is Detail.ZERO_POINT:
        # A zero point that was shifted beyond the largest field stayed there.
        fair |= before & np.isin(blocked.zeros, blocked.ends)
    return bool(fair.all())


def _unrounded(blocked: BlockedWeight, reading: Reading, expected: Array, before: Array) -> Array:
    """What is read wrongly without its rounding: that of the right reading, in the steps read."""
    right = reading.weight
    error = right.real - expected
    if reading.right is Detail.REORDERED:
        error = _turned(error, 8 // _bits(blocked))
    with np.errstate(all="ignore"):
        ratio = np.nan_to_num(blocked.steps / right.steps)
    aside = before & ~fair_numbers(right, expected)
    return np.asarray(np.where(aside, expected, blocked.real - error * ratio))


def _bits(blocked: BlockedWeight) -> int:
    return (blocked.ends[1] - blocked.ends[0]).bit_length()


def _turned(values: Array, each: int) -> Array:
    """So many neighbors each in the opposite order."""
    return values.reshape(*values.shape[:-1], -1, each)[..., ::-1].reshape(values.shape)


def _others(blocked: BlockedWeight) -> Iterator[Reading]:
    """Other ways to read the same bytes."""
    low, high = blocked.ends
    each = 8 // _bits(blocked)
    if each > 1 and blocked.integers.shape[-1] % each == 0:
        yield Reading(
            weight=replace(blocked, integers=_turned(blocked.integers, each)),
            right=Detail.REORDERED,
            words=message("quantization.packing"),
            fix=message("FIX.packing"),
        )
    half = (high - low + 1) // 2
    yield Reading(
        weight=replace(blocked, integers=low + (blocked.integers - low + half) % (2 * half)),
        right=Detail.ZERO_POINT,
        words=message("quantization.signs"),
        fix=message("FIX.highest_bit"),
    )
    for steps in _on_another_axis(blocked):
        yield Reading(
            weight=replace(blocked, steps=steps),
            right=Detail.SCALE,
            words=message(
                "quantization.group_axis" if blocked.block else "quantization.other_axis"
            ),
            fix=message("FIX.group_scales" if blocked.block else "FIX.other_axis"),
        )
    for shift in _SHIFTS:
        yield Reading(
            weight=replace(blocked, zeros=blocked.zeros + shift),
            right=Detail.ZERO_POINT,
            words=message("quantization.zero_points", shift=-shift),
            fix=message("FIX.add_to_zero_points", shift=shift),
        )


def _on_another_axis(blocked: BlockedWeight) -> Iterator[Array]:
    """The step at each element, if those of the blocks were stored for other axes."""
    axis, steps = blocked.axis, blocked.steps
    if axis is None:
        return
    if not blocked.block:
        others = (place for place, size in enumerate(steps.shape) if size == steps.shape[axis])
        yield from (np.swapaxes(steps, axis, place) for place in others if place != axis)
    elif steps.ndim == 2:
        length = steps.shape[axis]
        single = steps.take(np.arange(0, length, blocked.block), axis=axis)
        other = single.reshape(single.shape[::-1]).T
        yield np.asarray(other.take(np.arange(length) // blocked.block, axis=axis))


def _scaled(blocked: BlockedWeight, sources: Sequence[Array]) -> Iterator[Reading]:
    """All scales times one number, or those of some blocks each times its own.

    A converter may have worked a factor into a whole weight, or one into each channel. Where the
    constant states its scales itself, only those are surely wrong beside which most are right.
    """
    for expected in sources:
        allowed = _allowed(blocked, expected)
        factor = allowed.common()
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

    def common(self) -> float | None:
        """A number in the middle of those that are allowed everywhere; None where there is none."""
        if self.sizes.size < _FACTOR_NUMBERS or not self.inside.any():
            return None
        least, most = float(np.max(self.least)), float(np.min(self.most))
        if not 0.0 < least <= most * _SLACK < np.inf:
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


def _factors(blocked: BlockedWeight, expected: Array) -> Array | None:
    """For each element the number that makes the scale of its block right; None if one has none.

    Blocks that are right have one. Few numbers may be explained by chance, so a block needs enough.
    """
    allowed, fair = _allowed(blocked, expected), fair_numbers(blocked, expected)
    right = blocked.over_blocks(np.logical_and, fair)
    least = blocked.over_blocks(np.maximum, allowed.least)
    most = blocked.over_blocks(np.minimum, allowed.most)
    enough = blocked.over_blocks(np.add, allowed.inside.astype(np.int64)) >= _BLOCK_NUMBERS
    explained = enough & (least > 0.0) & (least <= most * _SLACK) & np.isfinite(most)
    if not np.all(right | explained):
        return None
    nearest = np.clip(1.0, least, np.maximum(least, most))
    moved = ~right & (allowed.sizes * np.abs(1.0 - nearest) > 0.5)
    with np.errstate(invalid="ignore"):
        return np.where(right, 1.0, (least + most) / 2.0) if moved.any() else None


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
