"""Find the arrangements of axes in which two weights can be compared element by element."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.ops import KEEPS_NUMBERS
from isomorph.core.stated_numbers import SAMPLE_TOLERANCE, SAMPLED_ELEMENTS
from isomorph.match.element_bounds import Source, same_elements
from isomorph.match.folded_weights import ScaledKernel
from isomorph.match.stored_weights import StoredWeight, same_integers
from isomorph.match.value_match import weight_arrangements
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import Weights


_FACTORS = frozenset({"Gemm", "Div"})
"""Operators that may multiply or divide by a weight (``factored_in``)."""


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
    value: Array | ScaledKernel, actual: Array, weight: StoredWeight, source: Source
) -> Iterator[tuple[Array, Source]]:
    """Yield ``value`` in every arrangement of its axes in which a sample of elements agrees.

    What is yielded is float64. A value that does not agree is neither widened nor scaled as a
    whole: most of those that are tried do not.
    """
    spots = sample_spots(actual.shape)
    actual_sample = actual[spots]
    for placed in _placed(value, source.error_bound, actual.shape):
        with np.errstate(all="ignore"):
            sample = placed.numbers(spots)
        if sample_agrees(sample, actual_sample, weight, source):
            yield placed.numbers(), placed.terms(source)


def sample_agrees(
    sample: Array, actual_sample: Array, weight: StoredWeight, source: Source
) -> Array:
    """Whether a quarter of the sampled elements agrees; of several samples, one answer each."""
    step = 2.0 * source.half_step
    step += max(weight.grid.scale) if weight.grid is not None else 0.0
    unit = 2.0 * (unit_roundoff(weight.dtype) + unit_roundoff(source.dtype)) + SAMPLE_TOLERANCE
    with np.errstate(all="ignore"):
        close = np.abs(sample - actual_sample) <= step + unit * np.abs(sample)
    return np.asarray(4 * np.count_nonzero(close, axis=-1) >= close.shape[-1])


def same_sign_arrangements(
    value: Array | ScaledKernel, actual: Array, source: Source
) -> Iterator[tuple[Array, Source]]:
    """Yield ``value`` in every arrangement in which a sample has the signs of ``actual``.

    A wrong scale changes no sign. Numbers that are rounded to zero have none.
    """
    spots = sample_spots(actual.shape)
    signs = np.sign(actual[spots])
    known = signs != 0.0
    for placed in _placed(value, source.error_bound, actual.shape):
        if np.array_equal(np.sign(placed.numbers(spots))[known], signs[known]):
            yield placed.numbers(), placed.terms(source)


def shifted_arrangements(
    value: Array | ScaledKernel, actual: Array, weight: StoredWeight, source: Source
) -> Iterator[tuple[Array, Source]]:
    """Yield ``value`` in every arrangement in which a sample agrees after a shift by channel.

    A wrong zero point moves all numbers of its channel alike, and those near zero to another sign.
    """
    if weight.grid is None:
        return
    spots = sample_spots(actual.shape)
    axis = weight.grid.axis if len(weight.grid.scale) > 1 else None
    channels = spots[axis % actual.ndim] if axis is not None else np.zeros(len(spots[0]), int)
    for placed in _placed(value, source.error_bound, actual.shape):
        with np.errstate(all="ignore"):
            sample = placed.numbers(spots)
            apart = actual[spots] - sample
        for each in set(channels.tolist()):
            sample[channels == each] += np.median(apart[channels == each])
        if sample_agrees(sample, actual[spots], weight, source):
            yield placed.numbers(), placed.terms(source)


def only_moved(weight: StoredWeight, here: Weights, source: StoredWeight, there: Weights) -> bool:
    """Whether a weight holds the very numbers of another one, in some arrangement of its axes.

    Such numbers are compared as they are stored: in float64 they take twice the memory.
    """
    quantized = weight.grid is not None or source.grid is not None
    if quantized or weight.dtype != source.dtype or weight.value_digest != source.value_digest:
        return False
    if weight.turned_digest and weight.turned_digest == source.digest:
        return True
    actual, value = here.numbers(weight), there.numbers(source)
    if actual is None or value is None or actual.dtype != value.dtype:
        return False
    return any(same_elements(each, actual) for each in weight_arrangements(value, actual.shape))


@lru_cache(maxsize=64)
def sample_spots(shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Return the places of the elements of a weight that are compared first, by axis."""
    size = math.prod(shape)
    places = np.linspace(0, size - 1, min(SAMPLED_ELEMENTS, size)).astype(np.int64)
    # They are in order. np.unique would import all of numpy.ma.
    return tuple(np.unravel_index(places[np.diff(places, prepend=-1) > 0], shape))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Placed:
    """A value in one arrangement, with the factors and the bounds in the same arrangement."""

    value: Array
    scale: Array | None = None
    error_bound: Array | None = None
    relative_bound: float = 0.0

    def numbers(self, spots: tuple[Array, ...] | None = None) -> Array:
        """Return the numbers at these places, or all of them, in float64."""
        value, scale = self.value, self.scale
        if spots is not None:
            value, scale = value[spots], None if scale is None else scale[spots]
        if scale is None:
            return np.asarray(value, np.float64)
        return np.multiply(value, scale, dtype=np.float64)

    def terms(self, source: Source) -> Source:
        """Return the source with its error bound in this arrangement."""
        if self.scale is not None:
            return replace(source, relative_bound=self.relative_bound)
        return source if self.error_bound is None else replace(source, error_bound=self.error_bound)


def _placed(
    value: Array | ScaledKernel, error_bound: Array | float, shape: tuple[int, ...]
) -> Iterator[_Placed]:
    """Yield every arrangement of a value in a shape."""
    if isinstance(value, ScaledKernel):
        kernels = weight_arrangements(value.kernel, shape)
        scales = weight_arrangements(np.broadcast_to(value.scale, value.kernel.shape), shape)
        for kernel, scale in zip(kernels, scales, strict=True):
            yield _Placed(value=kernel, scale=scale, relative_bound=value.relative_bound)
    elif isinstance(error_bound, np.ndarray):
        bounds = weight_arrangements(np.broadcast_to(error_bound, value.shape), shape)
        for each, bound in zip(weight_arrangements(value, shape), bounds, strict=True):
            yield _Placed(value=each, error_bound=bound)
    else:
        yield from (_Placed(value=each) for each in weight_arrangements(value, shape))


def origins_as_stored(
    weight: StoredWeight, source: StoredWeight, there: Weights, unlike: frozenset[str]
) -> Iterator[tuple[StoredWeight | None, Array, Source]]:
    """Yield a stored weight as the origin of another one, and with the factors of its readers.

    One that is known to be ``unlike`` it as it is stored is only yielded with factors, and not read
    where it has none.
    """
    left_out = source.name in unlike
    if left_out and not any(reader.node.op in _FACTORS for reader in source.readers):
        return
    value = there.numbers(source)
    if value is None:
        return
    if not left_out:
        rounded = source.grid is not None and not same_integers(weight, source)
        half = 0.5 * max(source.grid.scale) if source.grid is not None and rounded else 0.0
        yield source, value, Source(dtype=source.dtype, half_step=half)
    for other in factored_in(source, value) if source.grid is None else ():
        yield None, other, Source(dtype=source.dtype)


def factored_in(source: StoredWeight, value: Array) -> Iterator[Array]:
    """Yield the weight with what its reader does to it: a factor of a Gemm, or a division.

    A converter may store this product, or the reciprocal, instead of the weight.
    """
    for reader in source.readers:
        factor = {1: "alpha", 2: "beta"}.get(reader.slot) if reader.node.op == "Gemm" else None
        number = reader.node.attributes.get(factor, 1.0) if factor is not None else 1.0
        if isinstance(number, float) and number not in (0.0, 1.0):
            yield np.asarray(value, np.float64) * number
        elif reader.node.op == "Div" and reader.slot == 1 and np.all(value != 0):
            with np.errstate(over="ignore"):
                yield 1.0 / np.asarray(value, np.float64)
