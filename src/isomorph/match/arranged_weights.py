"""Whether two weights can be compared number by number, and in which arrangement of axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.element_bounds import Source
from isomorph.match.stored_weights import HANDS_ON, StoredWeight
from isomorph.match.value_match import placements
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_SAMPLED = 256
"""Elements that are looked at first: where half of them differ, the rest need not be read."""
_SAMPLE_ROUNDING = 1e-5
"""Of what is looked at first; what passes is compared with its own bound."""


def acts_alike(weight: StoredWeight, source: StoredWeight) -> bool:
    """Whether the numbers of both reach the data as they are, or by the same steps."""
    if weight.direct and source.direct:
        return True
    steps = [
        {tuple(op for op in each.between if op not in HANDS_ON) for each in side.readers}
        for side in (weight, source)
    ]
    return steps[0] == steps[1]


def arranged(
    value: Array, held: Array, weight: StoredWeight, source: Source
) -> Iterator[tuple[Array, Source]]:
    """The value in every arrangement of its axes in which a sample of its numbers agrees."""
    reach = source.reach if isinstance(source.reach, np.ndarray) else None
    places = np.unique(np.linspace(0, held.size - 1, min(_SAMPLED, held.size)).astype(np.int64))
    spots = np.unravel_index(places, held.shape)
    wanted = held[spots]
    step = 2.0 * source.half_step
    step += max(weight.grid.scale) if weight.grid is not None else 0.0
    unit = 2.0 * (unit_roundoff(weight.dtype) + unit_roundoff(source.dtype)) + _SAMPLE_ROUNDING
    for expected, lost in _placed(value, reach, held.shape):
        with np.errstate(all="ignore"):
            sample = expected[spots]
            close = np.abs(sample - wanted) <= step + unit * np.abs(sample)
        if 4 * int(np.count_nonzero(close)) >= places.size:
            yield expected, source if lost is None else replace(source, reach=lost)


def _placed(
    value: Array, reach: Array | None, shape: tuple[int, ...]
) -> Iterator[tuple[Array, Array | None]]:
    """Every arrangement of a value in a shape, with its bounds arranged alike."""
    if reach is None:
        yield from ((each, None) for each in placements(value, shape))
        return
    bounds = placements(np.broadcast_to(reach, value.shape), shape)
    yield from zip(placements(value, shape), bounds, strict=True)


def applied(source: StoredWeight, value: Array) -> Iterator[Array]:
    """A weight as its reader applies it: times alpha or beta of a Gemm, or as the divisor.

    A converter that writes the product without the factor, or multiplies instead, stores that.
    """
    for reader in source.readers:
        factor = {1: "alpha", 2: "beta"}.get(reader.slot) if reader.node.op == "Gemm" else None
        number = reader.node.attributes.get(factor, 1.0) if factor is not None else 1.0
        if isinstance(number, float) and number not in (0.0, 1.0):
            yield value * number
        elif reader.node.op == "Div" and reader.slot == 1 and np.all(value != 0):
            with np.errstate(over="ignore"):
                yield 1.0 / value
