"""The distance of two tensors: all measures in one blocked pass.

Blocks of a few thousand elements stay in the cache, which is several times faster than one
pass per measure. All sums are float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.divergence import Distance
from isomorph.measure.compiled_distance import Sums, fused_sums, worth_it

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_BLOCK = 1 << 13
"""Elements measured at a time: they stay in the cache, and BLAS starts no threads for so few."""

_EXPONENT = np.uint64(0x7FF0000000000000)
"""The bits of a float64 that hold its exponent."""


def distance(actual: Array, expected: Array, *, dtype: str | None = None) -> Distance:
    """Measure ``actual`` against ``expected``; both must have one shape.

    ``dtype`` is the type whose last place is the unit of ``max_ulp``: the declared type of the
    tensor, which may be narrower than the float64 of an oracle. NaN equals NaN; an infinity
    equals an infinity of the same sign; everything else that is not finite is a mismatch.
    """
    if actual.shape != expected.shape:
        raise ValueError(f"shapes {actual.shape} and {expected.shape} cannot be compared")
    if is_inexact(actual) or is_inexact(expected):
        return _float_distance(actual, expected, dtype or str(actual.dtype))
    return _exact_distance(actual, expected)


def is_inexact(array: Array) -> bool:
    """Whether elements are floats (or complex), which round, rather than exact values."""
    # ml_dtypes' floats are of kind 'V' or 'f' depending on the type; complex counts too.
    return array.dtype.kind in "fc" or str(array.dtype).startswith(("bfloat", "float"))


def is_integer(array: Array) -> bool:
    """Whether elements are integers, of NumPy's types or narrower ones."""
    return array.dtype.kind in "iu" or str(array.dtype).startswith(("int", "uint"))


def _exact_distance(actual: Array, expected: Array) -> Distance:
    """Compare integers, booleans and strings exactly; of integers also measure the difference."""
    unequal = np.asarray(actual != expected)
    differing = int(np.count_nonzero(unequal))
    largest: float | None = None
    if actual.dtype.kind in "iub" and expected.dtype.kind in "iub":
        # Python integers: an int64 difference may not fit into int64, nor into a float's 53 bits.
        pairs = zip(actual[unequal].tolist(), expected[unequal].tolist(), strict=True)
        largest = float(max((abs(int(a) - int(b)) for a, b in pairs), default=0))
    first = np.argwhere(unequal)[:1]
    return Distance(
        elements=actual.size,
        compared=actual.size,
        differing=differing,
        nonfinite_mismatch=0,
        signed_zero_mismatch=0,
        max_abs=largest if actual.size else None,
        max_rel=None,
        max_ulp=None,
        rms=None,
        relative_l2=None,
        sqnr_db=None,
        cosine=None,
        argmax_agreement=None,
        worst_index=tuple(int(i) for i in first[0]) if differing else None,
    )


def _float_distance(actual: Array, expected: Array, dtype: str) -> Distance:
    sums = _summed(actual, expected, dtype)
    seen = sums.compared > 0
    worst = np.unravel_index(sums.worst, actual.shape) if sums.worst >= 0 else None
    return Distance(
        elements=actual.size,
        compared=sums.compared,
        differing=sums.differing,
        nonfinite_mismatch=sums.nonfinite,
        signed_zero_mismatch=sums.zeros,
        max_abs=sums.max_abs if seen else None,
        max_rel=sums.max_rel if seen and sums.max_rel >= 0 else None,
        max_ulp=sums.max_ulp if seen and sums.max_ulp >= 0 else None,
        rms=math.sqrt(sums.error / sums.compared) if seen else None,
        relative_l2=_ratio(math.sqrt(sums.error), math.sqrt(sums.right)) if seen else None,
        sqnr_db=_sqnr(sums.right, sums.error) if seen else None,
        cosine=_cosine(sums) if seen else None,
        argmax_agreement=_argmax_agreement(actual, expected),
        worst_index=tuple(int(i) for i in worst) if worst is not None else None,
    )


def _summed(actual: Array, expected: Array, dtype: str) -> Sums:
    if worth_it(actual, expected):
        info = float_info(dtype)
        limits = float(info.smallest_normal), float(info.max), float(info.eps)
        return fused_sums(actual, expected, *limits)
    flat_a, flat_e = np.ravel(actual), np.ravel(expected)
    sums = Sums()
    with np.errstate(all="ignore"):
        for start in range(0, flat_a.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            _add_block(sums, widen(flat_a[block]), widen(flat_e[block]), start, dtype)
    return sums


def widen(array: Array) -> Array:
    """Convert to float64 (or complex128); this is exact for every supported float type."""
    wide: Array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return wide


def _add_block(sums: Sums, a: Array, e: Array, start: int, dtype: str) -> None:
    if a.dtype.kind == "f":
        left, right = float(np.dot(a, a)), float(np.dot(e, e))
        if math.isfinite(left) and math.isfinite(right):
            sums.left += left
            sums.right += right
            _add_finite_block(sums, a, e, start, dtype)
            return
    finite = np.isfinite(a) & np.isfinite(e)
    same_kind = (np.isnan(a) & np.isnan(e)) | (a == e)
    sums.nonfinite += int(np.count_nonzero(~finite & ~same_kind))
    sums.zeros += int(np.count_nonzero((a == 0) & (e == 0) & (_negative(a) != _negative(e))))
    sums.compared += int(np.count_nonzero(finite))
    error = np.where(finite, np.abs(a - e), 0.0)
    sums.differing += int(np.count_nonzero(~same_kind))
    here = int(np.argmax(np.where(finite, error, -1.0)))
    if finite[here] and error[here] > sums.max_abs:
        sums.max_abs, sums.worst = float(error[here]), start + here
    size = np.abs(np.where(finite, e, 0.0))
    sums.max_rel = max(sums.max_rel, _largest(error, size, finite & (size > 0)))
    sums.max_ulp = max(sums.max_ulp, _largest(error, spacing(size, dtype), finite))
    own = np.abs(np.where(finite, a, 0.0))
    sums.error += float(np.dot(error, error))
    sums.left += float(np.dot(own, own))
    sums.right += float(np.dot(size, size))
    sums.dot += float(np.real(np.vdot(np.where(finite, a, 0.0), np.where(finite, e, 0.0))))


def _add_finite_block(sums: Sums, a: Array, e: Array, start: int, dtype: str) -> None:
    """Add a block of real numbers that are all finite: nothing in it is masked."""
    error = np.abs(a - e)
    here = int(np.argmax(error))
    largest = float(error[here])
    if largest > sums.max_abs:
        sums.max_abs, sums.worst = largest, start + here
    size = np.abs(e)
    sums.compared += a.size
    sums.error += float(np.dot(error, error))
    sums.dot += float(np.dot(a, e))
    # Where the sign differs and the number does not, both are zero.
    other_sign = np.signbit(a) != np.signbit(e)
    sums.zeros += int(np.count_nonzero(other_sign & (error == 0))) if other_sign.any() else 0
    if largest == 0.0:
        sums.max_rel = max(sums.max_rel, 0.0 if size.any() else -math.inf)
        sums.max_ulp = max(sums.max_ulp, 0.0)
        return
    sums.differing += int(np.count_nonzero(error))
    sums.max_rel = max(sums.max_rel, _largest(error, size, size > 0))
    sums.max_ulp = max(sums.max_ulp, float(np.max(error / spacing(size, dtype))))


def _negative(array: Array) -> Array:
    return np.asarray(np.signbit(array.real))


def _largest(error: Array, ruler: Array, where: Array) -> float:
    if where.all():
        return float(np.max(error / ruler)) if where.size else -math.inf
    return float(np.max(error[where] / ruler[where])) if where.any() else -math.inf


def spacing(size: Array, dtype: str) -> Array:
    """The distance to the next number of type ``dtype``, at ``size``, as float64."""
    info = float_info(dtype)
    # Capped, because the spacing at infinity is NaN. It is taken at the expected value: that of
    # a very wrong result would be very coarse.
    capped = np.clip(size, float(info.smallest_normal), float(info.max))
    # The exponent alone, which is the largest power of two below the number.
    power = (capped.view(np.uint64) & _EXPONENT).view(np.float64)
    ruler: Array = power * float(info.eps)
    return ruler


@cache
def float_info(dtype: str) -> Any:  # noqa: ANN401
    """The limits of a NumPy or ml_dtypes float; complex by its parts, others as float64."""
    parts = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    if parts in {"float16", "float32", "float64"}:
        return np.finfo(parts)
    if parts.startswith(("bfloat", "float8", "float6", "float4")):
        import ml_dtypes

        return ml_dtypes.finfo(parts)
    return np.finfo(np.float64)


def _ratio(above: float, below: float) -> float | None:
    if below == 0.0:
        return 0.0 if above == 0.0 else None
    return above / below


def _sqnr(signal: float, noise: float) -> float | None:
    if noise == 0.0:
        return math.inf if signal > 0.0 else None
    return 10.0 * (math.log10(signal) - math.log10(noise)) if signal > 0.0 else -math.inf


def _cosine(sums: Sums) -> float | None:
    below = math.sqrt(sums.left) * math.sqrt(sums.right)
    return max(-1.0, min(1.0, sums.dot / below)) if below > 0.0 else None


def _argmax_agreement(actual: Array, expected: Array) -> float | None:
    """Return the share of rows (along the last axis) with the same largest element."""
    if actual.ndim == 0 or actual.shape[-1] < 2 or actual.size == 0 or actual.dtype.kind == "c":
        return None
    columns = actual.shape[-1]
    left, right = actual.reshape(-1, columns), expected.reshape(-1, columns)
    rows = max(1, _BLOCK // columns)
    agree = 0
    for start in range(0, left.shape[0], rows):
        block = slice(start, start + rows)
        same = np.argmax(widen(left[block]), -1) == np.argmax(widen(right[block]), -1)
        agree += int(np.count_nonzero(same))
    return agree / left.shape[0]


def differs(one: Mapping[str, Array], other: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the outputs that are not equal bit by bit in two runs."""
    return tuple(
        name
        for name, array in one.items()
        if name not in other
        or array.shape != other[name].shape
        or not np.array_equal(array, other[name], equal_nan=array.dtype.kind in "fc")
    )
