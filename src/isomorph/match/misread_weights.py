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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How packed weights are read; ``right`` is the detail that it corrects, None for none."""

    weight: BlockedWeight
    right: Detail | None = None
    words: str = ""
    fix: str = ""
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
    each = 8 // _bits(blocked)
    if each > 1 and blocked.integers.shape[-1] % each == 0:
        yield Reading(
            weight=replace(blocked, integers=_turned(blocked.integers, each)),
            right=Detail.REORDERED,
            words=message("quantization.packing"),
            fix=message("FIX.packing"),
        )
    turned_steps = _on_the_other_axis(blocked)
    if turned_steps is not None:
        yield Reading(
            weight=replace(blocked, steps=turned_steps),
            right=Detail.SCALE,
            words=message("quantization.group_axis"),
            fix=message("FIX.group_scales"),
        )
    for shift in _SHIFTS:
        yield Reading(
            weight=replace(blocked, zeros=blocked.zeros + shift),
            right=Detail.ZERO_POINT,
            words=message("quantization.zero_points", shift=-shift),
            fix=message("FIX.add_to_zero_points", shift=shift),
        )


def _on_the_other_axis(blocked: BlockedWeight) -> Array | None:
    """The step at each element, if those of the blocks were stored with their axes exchanged."""
    if blocked.steps.ndim != 2:
        return None
    axis, length = blocked.axis, blocked.steps.shape[blocked.axis]
    single = blocked.steps.take(np.arange(0, length, blocked.block), axis=axis)
    other = single.reshape(single.shape[::-1]).T
    return np.asarray(other.take(np.arange(length) // blocked.block, axis=axis))


def _scaled(blocked: BlockedWeight, sources: Sequence[Array]) -> Iterator[Reading]:
    """All scales times one number, of those that every number of a source allows."""
    for expected in sources:
        factor = _factor(blocked, expected)
        if factor is not None:
            yield Reading(
                weight=replace(blocked, steps=blocked.steps * factor),
                right=Detail.SCALE,
                words=message("quantization.scales", factor=1.0 / factor),
                fix=message("FIX.multiply_scales", factor=factor),
            )


def _factor(blocked: BlockedWeight, expected: Array) -> float | None:
    """A number in the middle of those by which all scales are right; None where there is none."""
    if expected.size < _FACTOR_NUMBERS:
        return None
    counts = (blocked.integers - blocked.zeros) * np.sign(blocked.steps)
    size, right = np.abs(counts), expected * np.where(counts < 0, -1.0, 1.0)
    counted = size >= 1.0
    inside = counted & ~np.isin(blocked.integers, blocked.ends)
    if not inside.any():
        return None
    with np.errstate(all="ignore"):
        units = right / np.abs(blocked.steps)
        # What lies at the end of a block may belong beyond it, and not before it.
        least = float(np.max((units / (size + 0.5))[inside]))
        most = float(np.min((units / (size - 0.5))[counted]))
    slack = 1.0 + OPERATION_ROUNDINGS * unit_roundoff("float32")
    if not 0.0 < least <= most * slack < np.inf:
        return None
    factor = (least + most) / 2.0
    # A factor that moves no number by more than rounding does is none.
    return factor if float(np.max(size)) * abs(1.0 - factor) > 0.5 else None
