"""Packed weights that are no rounding of the reference's as they are read, and are one otherwise.

A quantizer may round otherwise than to the nearest number, so a weight that is no fair rounding
need not be wrong. One that another reading makes a fair rounding in every number is: the fields of
each byte in the other order, other zero points, scales on the other axis, a common factor.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.fault_context import Detail
from isomorph.core.messages import message
from isomorph.match.misread_scales import other_scales
from isomorph.match.weight_readings import Reading, at_places, fair_numbers, few_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.core.trace import Array
    from isomorph.match.blocked_weights import BlockedWeight

_SHIFTS = (-1, 1, -8, 8, -128, 128)
"""Zero points that are one off, or those of signed for unsigned fields."""


def misread(blocked: BlockedWeight, sources: Sequence[Array]) -> Reading | None:
    """The first reading that makes weights a rounding of one of these.

    One without a detail stands for weights that none of them explains. None for weights that are
    right as they are read, or where there is nothing that they could be.
    """
    if not sources or any(_is_fair(blocked, each) for each in sources):
        return None
    for reading in chain(_others(blocked), other_scales(blocked, sources)):
        for expected in sources:
            if _explains(blocked, reading, expected):
                return replace(reading, unrounded=_unrounded(blocked, reading, expected))
    return Reading(weight=blocked)


def _is_fair(blocked: BlockedWeight, expected: Array) -> bool:
    """Whether every number is a rounding of the expected one; a few tell it of most weights."""
    few = few_places(blocked.integers)
    some = fair_numbers(at_places(blocked, few), expected[few])
    return bool(some.all() and fair_numbers(blocked, expected).all())


def _explains(blocked: BlockedWeight, reading: Reading, expected: Array) -> bool:
    few = few_places(blocked.integers)
    right = replace(reading, weight=at_places(reading.weight, few))
    return bool(
        _fair_as_read(at_places(blocked, few), right, expected[few]).all()
        and _fair_as_read(blocked, reading, expected).all()
    )


def _fair_as_read(blocked: BlockedWeight, reading: Reading, expected: Array) -> Array:
    fair = fair_numbers(reading.weight, expected)
    if reading.right is Detail.ZERO_POINT:
        # A zero point that was shifted beyond the largest field stayed there.
        fair |= fair_numbers(blocked, expected) & np.isin(blocked.zeros, blocked.ends)
    return fair


def _unrounded(blocked: BlockedWeight, reading: Reading, expected: Array) -> Array:
    """What is read wrongly without its rounding: that of the right reading, in the steps read."""
    right = reading.weight
    error = right.real - expected
    if reading.right is Detail.REORDERED:
        error = _turned(error, 8 // _bits(blocked))
    with np.errstate(all="ignore"):
        ratio = np.nan_to_num(blocked.steps / right.steps)
    aside = fair_numbers(blocked, expected) & ~fair_numbers(right, expected)
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
