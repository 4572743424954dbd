"""Another reading of packed weights, and which of their numbers are fair roundings as read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.fault_context import Detail
    from isomorph.core.trace import Array
    from isomorph.match.blocked_weights import BlockedWeight

_FEW = 256
"""Numbers that are looked at before all of them; what they exclude is excluded."""


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


def few_places(values: Array) -> tuple[Array, ...]:
    """Places that lie evenly in an array: what is wrong with a weight shows at most of them."""
    count = min(values.size, _FEW)
    return np.unravel_index(np.arange(count) * values.size // max(count, 1), values.shape)


def at_places(blocked: BlockedWeight, places: tuple[Array, ...]) -> BlockedWeight:
    """The numbers of a weight at these places, without its blocks."""
    return replace(
        blocked,
        integers=blocked.integers[places],
        zeros=blocked.zeros[places],
        steps=blocked.steps[places],
    )
