"""Find the arrangements of axes in which two weights can be compared element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import SAMPLE_TOLERANCE, SAMPLED_ELEMENTS
from isomorph.match.element_bounds import Source
from isomorph.match.stored_weights import KEEPS_NUMBERS, StoredWeight
from isomorph.match.value_match import weight_arrangements
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array


def same_use(weight: StoredWeight, source: StoredWeight) -> bool:
    """Whether the elements of both reach the data unchanged, or through the same operators."""
    if weight.direct and source.direct:
        return True
    steps = [
        {tuple(op for op in each.between if op not in KEEPS_NUMBERS) for each in side.readers}
        for side in (weight, source)
    ]
    return steps[0] == steps[1]


def agreeing_arrangements(
    value: Array, actual: Array, weight: StoredWeight, source: Source
) -> Iterator[tuple[Array, Source]]:
    """Yield ``value`` in every arrangement of its axes in which a sample of elements agrees."""
    error_bound = source.error_bound if isinstance(source.error_bound, np.ndarray) else None
    places = np.unique(
        np.linspace(0, actual.size - 1, min(SAMPLED_ELEMENTS, actual.size)).astype(np.int64)
    )
    spots = np.unravel_index(places, actual.shape)
    actual_sample = actual[spots]
    step = 2.0 * source.half_step
    step += max(weight.grid.scale) if weight.grid is not None else 0.0
    unit = 2.0 * (unit_roundoff(weight.dtype) + unit_roundoff(source.dtype)) + SAMPLE_TOLERANCE
    for expected, lost in _placed(value, error_bound, actual.shape):
        with np.errstate(all="ignore"):
            sample = expected[spots]
            close = np.abs(sample - actual_sample) <= step + unit * np.abs(sample)
        if 4 * int(np.count_nonzero(close)) >= places.size:
            yield expected, source if lost is None else replace(source, error_bound=lost)


def _placed(
    value: Array, error_bound: Array | None, shape: tuple[int, ...]
) -> Iterator[tuple[Array, Array | None]]:
    """Yield every arrangement of a value in a shape, with its bounds in the same arrangement."""
    if error_bound is None:
        yield from ((each, None) for each in weight_arrangements(value, shape))
        return
    bounds = weight_arrangements(np.broadcast_to(error_bound, value.shape), shape)
    yield from zip(weight_arrangements(value, shape), bounds, strict=True)


def factored_in(source: StoredWeight, value: Array) -> Iterator[Array]:
    """Yield the weight with what its reader does to it: a factor of a Gemm, or a division.

    A converter may store this product, or the reciprocal, instead of the weight.
    """
    for reader in source.readers:
        factor = {1: "alpha", 2: "beta"}.get(reader.slot) if reader.node.op == "Gemm" else None
        number = reader.node.attributes.get(factor, 1.0) if factor is not None else 1.0
        if isinstance(number, float) and number not in (0.0, 1.0):
            yield value * number
        elif reader.node.op == "Div" and reader.slot == 1 and np.all(value != 0):
            with np.errstate(over="ignore"):
                yield 1.0 / value
