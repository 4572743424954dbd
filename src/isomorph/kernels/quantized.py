"""The quantizer: where real numbers become integers, and where integers stand for reals.

``requantize`` is the only place that rounds to a grid, ``dequantize`` and ``centered`` the only
ones that leave it. When the noise asks for it, a quantizer neither rounds nor clips: it returns
float64 "integers", disturbed by one step of an ideal min/max quantizer of the same width, and by
what its range, taken from another sample, may cut off this one. That is the loss which the width
itself intends, and every consumer computes on it unchanged.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array, unit_roundoff

_REALS = frozenset({"float64", "float32", "float16", "bfloat16"})


def limits(dtype: str) -> tuple[int, int] | None:
    """The smallest and largest integer of the type; None for a type that is not an integer."""
    found = re.fullmatch(r"(u?)int(\d+)", dtype)
    if found is None:
        return None
    bits = int(found[2])
    return (0, 2**bits - 1) if found[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def declared_dtype(call: Call, index: int, array: Array | None, default: str = "uint8") -> str:
    """The type of quantized input ``index`` as declared, whatever it is held in.

    ``default`` where the input is absent, or where disturbed quantizers have hidden the type.
    """
    declared = call.input_dtypes[index] if index < len(call.input_dtypes) else None
    if declared is None and array is not None:
        declared = array.dtype.name
    return default if declared is None or declared in _REALS else declared


def spread(parameter: Array, shape: tuple[int, ...], axis: int | None, block: int = 0) -> Array:
    """A scale or zero point, shaped to meet every element of its tensor.

    One value meets all; a vector runs along ``axis``; with ``block`` each value meets that many
    neighbors along ``axis``.
    """
    parameter = np.asarray(parameter)
    if parameter.size == 1:
        return parameter.reshape(())
    if axis is None:
        return parameter
    axis %= len(shape)
    if block:
        common = np.repeat(parameter, block, axis=axis)
        whole = common.shape[axis] == shape[axis]
        return common if whole else common.take(np.arange(shape[axis]), axis=axis)
    if parameter.ndim != 1:
        return parameter
    return parameter.reshape([-1 if place == axis else 1 for place in range(len(shape))])


def requantize(  # noqa: PLR0917
    real: Array,
    scale: Array,
    zero_point: Array | None,
    dtype: str,
    axis: int | None,
    call: Call,
    *,
    block: int = 0,
    saturate: bool = True,
    least_step: float = 0.0,
) -> Array:
    """Real numbers on the grid of ``dtype``: round(x/scale) + zero point, saturated.

    Ties go to the even neighbor. The division is done in the type of ``real``. NaN becomes the
    smallest value, as in ONNX Runtime. ``saturate`` False lets a float8 overflow. ``least_step``
    is that of the finest quantizer that the format allows here.
    """
    granularity = None if np.size(scale) == 1 else axis
    with np.errstate(all="ignore"):
        width = np.asarray(spread(scale, real.shape, axis, block), dtype=real.dtype)
        offset = _offset(zero_point, real.shape, axis, block)
        if call.noise.quantizers:
            wide = _kept_activation(real.astype(np.float64), offset, dtype)
            plain = np.size(width) == 1 and np.size(offset) == 1
            if plain:
                least_step = max(
                    least_step,
                    _natural_step(float(width), float(offset), dtype),
                    _symmetric_step(wide, float(offset), dtype),
                )
            disturbed = wide + ideal_rounding(
                wide, dtype, granularity, call, block=block, least_step=least_step
            )
            if plain:
                disturbed = disturbed + _cut_off(wide, width, offset, dtype, call)
            return np.asarray(disturbed / width.astype(np.float64) + offset)
        steps = call.noise.rounded(real / width)
        if (bounds := limits(dtype)) is None:
            return _to_small_float(steps, numpy_dtype(dtype), saturate)
        steps = np.rint(steps).astype(np.float64) + offset
        steps = np.fmin(np.fmax(steps, bounds[0]), bounds[1])
        return np.asarray(steps.astype(np.int64).astype(numpy_dtype(dtype)))


def dequantize(
    integers: Array,
    scale: Array,
    zero_point: Array | None,
    axis: int | None,
    *,
    block: int = 0,
) -> Array:
    """The float64 reals that these integers stand for: (q − zero point)·scale."""
    width = np.asarray(spread(scale, integers.shape, axis, block)).astype(np.float64)
    offset = _offset(zero_point, integers.shape, axis, block)
    with np.errstate(invalid="ignore"):  # of a scale that was calibrated on infinities
        return np.asarray((integers.astype(np.float64) - offset) * width)


def centered(integers: Array, zero_point: Array | None, axis: int | None = None) -> Array:
    """Integers minus their zero point, in float64, where products of them are exact."""
    return np.asarray(integers.astype(np.float64) - _offset(zero_point, integers.shape, axis, 0))


def centered_weights(
    integers: Array,
    zero_point: Array | None,
    axis: int | None,
    call: Call,
    *,
    scale: Array | None = None,
) -> Array:
    """The same for an operand that may hold stored weights; per slice of ``axis`` or per tensor.

    Under disturbed quantizers whatever came through one is a float array. What still is of an
    integer type was quantized before the model was saved, and gets its ideal step here.
    """
    units = centered(integers, zero_point, axis)
    if not call.noise.quantizers or integers.dtype == np.float64:
        return units
    sliced = any(np.size(each) > 1 for each in (scale, zero_point) if each is not None)
    granularity = axis if sliced else None
    step = 1.0 if reduced_range(integers, granularity) else 0.0
    return np.asarray(
        units + ideal_rounding(units, integers.dtype.name, granularity, call, least_step=step)
    )


def reduced_range(integers: Array, axis: int | None, block: int = 0) -> bool:
    """Whether stored bytes use 7 of their 8 bits: tools do so lest sums of products saturate.

    Each slice then ends where 7 bits end, and none goes beyond. The step of such a quantizer is
    the loss that its width intends.
    """
    if integers.dtype == np.int8:
        whole, last = np.abs(integers.astype(np.int16)), 64
    elif integers.dtype == np.uint8:
        whole, last = integers, 127
    else:
        return False
    _, high = _range(whole, axis, block)
    return bool(np.all(high <= last) and np.all((high == 0) | (high >= last - 1)) and high.any())


def ideal_rounding(
    real: Array,
    dtype: str,
    axis: int | None,
    call: Call,
    *,
    block: int = 0,
    least_step: float | Array = 0.0,
) -> Array:
    """A draw of the error of the best min/max quantizer for this very tensor.

    For integers: uniform in one step, the range (zero included) over the number of steps; per
    tensor, per slice of ``axis`` or per ``block`` of it; zero itself is held exactly. For float8:
    uniform in one rounding.
    """
    draw = call.noise.random.uniform(-1.0, 1.0, real.shape)
    if (bounds := limits(dtype)) is None:
        return np.asarray(draw * unit_roundoff(dtype) * np.abs(real))
    finite = np.isfinite(real)
    low, high = _range(real if finite.all() else np.where(finite, real, 0.0), axis, block)
    steps = (high - low) / (bounds[1] - bounds[0])
    if block and axis is not None:
        steps = spread(steps, real.shape, axis, block)
    draw *= np.maximum(steps, least_step) / 2.0
    draw[real == 0] = 0.0
    return draw


def symmetric_rounding(real: Array, dtype: str, axis: int, call: Call, *, block: int) -> Array:
    """A draw of the error of a quantizer that is symmetric about zero, for blocks of an axis."""
    bounds = limits(dtype)
    assert bounds is not None, "a type of integers"
    draw = call.noise.random.uniform(-1.0, 1.0, real.shape)
    low, high = _range(np.where(np.isfinite(real), real, 0.0), axis, block)
    draw *= spread(np.maximum(high, -low) / bounds[1], real.shape, axis, block) / 2.0
    draw[real == 0] = 0.0
    return draw


def ideal_step(real: Array, dtype: str) -> float:
    """The step of the best min/max quantizer of a whole tensor; zero for a type of floats."""
    if (bounds := limits(dtype)) is None or not real.size:
        return 0.0
    low, high = _range(real, None, 0)
    return float(np.max((high - low) / (bounds[1] - bounds[0])))


def _natural_step(width: float, offset: float, dtype: str) -> float:
    """The step of a grid over 0 … 1 or −1 … 1, else none.

    Tools give the outputs of Softmax, Sigmoid and Tanh the range of the function, whatever part
    of it their samples use: that is the width's own loss.
    """
    if (bounds := limits(dtype)) is None:
        return 0.0
    low, high = ((bound - offset) * width for bound in bounds)
    natural = abs(high - 1.0) <= width and min(abs(low), abs(low + 1.0)) <= width
    return width if natural else 0.0


def _symmetric_step(real: Array, offset: float, dtype: str) -> float:
    """The step of the finest grid for this very tensor whose zero lies in the middle, else none.

    Tools give activations such grids, because their products are cheaper. On the outputs of a GELU,
    which begin at −0.17, that takes nearly a bit: the scheme's own loss, whatever the sample.
    """
    if (bounds := limits(dtype)) is None or abs(offset - sum(bounds) / 2.0) > 0.5 or not real.size:
        return 0.0
    finite = np.where(np.isfinite(real), real, 0.0)
    return max(
        float(finite.max()) / (bounds[1] - offset), float(finite.min()) / (bounds[0] - offset), 0.0
    )


def _cut_off(real: Array, width: Array, offset: Any, dtype: str, call: Call) -> Array | float:  # noqa: ANN401
    """A draw of what a range cuts off that was calibrated on another sample of the same kind.

    Such a range misses the k outermost of n values with the chance (1 − k/n)ⁿ: the variance,
    where k values lie beyond the ends of the grid, in units of what each loses there. So one
    stray value is explained, and a range that is too narrow for many is not.
    """
    if (bounds := limits(dtype)) is None:
        return 0.0
    step = float(width)
    low, high = ((bound - float(offset)) * step for bound in bounds)
    with np.errstate(invalid="ignore"):
        excess = np.abs(real - np.clip(real, low, high))
    lost = np.where(np.isfinite(excess) & (excess > step / 2.0), excess, 0.0)
    many = int(np.count_nonzero(lost))
    if not many:
        return 0.0
    lost *= np.sqrt((1.0 - many / real.size) ** real.size)
    # Spread evenly, its deviation is the width over the root of three.
    return np.asarray(call.noise.random.uniform(-1.0, 1.0, real.shape) * np.sqrt(3.0) * lost)


def _kept_activation(real: Array, offset: Any, dtype: str) -> Array:  # noqa: ANN401
    """What the end of the grid means rather than loses.

    A grid that begins or ends at the real number zero is a ReLU too: quantizing tools drop the
    node and leave its work to the saturation. Any other saturation is loss.
    """
    if (bounds := limits(dtype)) is None:
        return real
    real = np.where(offset == bounds[0], np.maximum(real, 0.0), real)
    return np.asarray(np.where(offset == bounds[1], np.minimum(real, 0.0), real))


def unpacked(packed: Array, bits: int) -> Array:
    """The fields of each byte along the last axis, lowest bits first."""
    if bits == 8:
        return packed
    if 8 % bits:
        # 3, 5, 6 and 7 bits run on across the bytes of a row.
        single = np.unpackbits(packed, axis=-1, bitorder="little")
        whole = single.shape[-1] // bits
        fields = single[..., : whole * bits].reshape(*packed.shape[:-1], whole, bits)
        return np.asarray(fields @ (1 << np.arange(bits)))
    count, kept = 8 // bits, np.uint8(2**bits - 1)
    fields = np.empty((*packed.shape, count), packed.dtype)
    for place in range(count):
        np.bitwise_and(packed >> np.uint8(place * bits), kept, out=fields[..., place])
    return fields.reshape(*packed.shape[:-1], -1)


def _range(real: Array, axis: int | None, block: int) -> tuple[Array, Array]:
    """The ends of the range, zero included: of all, of each slice of an axis or of each block."""
    if real.size == 0:
        return np.zeros(()), np.zeros(())
    if axis is not None and block:
        axis %= real.ndim
        if real.shape[axis] % block:
            starts = np.arange(0, real.shape[axis], block)
            low = np.minimum.reduceat(real, starts, axis=axis)
            high = np.maximum.reduceat(real, starts, axis=axis)
        else:
            split = real.reshape(*real.shape[:axis], -1, block, *real.shape[axis + 1 :])
            low, high = split.min(axis=axis + 1), split.max(axis=axis + 1)
    else:
        others = None
        if axis is not None:
            others = tuple(k for k in range(real.ndim) if k != axis % real.ndim)
        low = real.min(axis=others, keepdims=True)
        high = real.max(axis=others, keepdims=True)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def _offset(zero_point: Array | None, shape: tuple[int, ...], axis: int | None, block: int) -> Any:  # noqa: ANN401
    if zero_point is None:
        return 0.0
    return spread(zero_point, shape, axis, block).astype(np.float64)


def _to_small_float(steps: Array, dtype: np.dtype[Any], saturate: bool) -> Array:  # noqa: FBT001
    if saturate:
        import ml_dtypes

        largest = float(ml_dtypes.finfo(dtype).max)
        steps = np.clip(steps, -largest, largest)
    # Through float32, as in every runtime: from float64 it would be rounded once, not twice.
    return steps.astype(np.float32).astype(dtype)
