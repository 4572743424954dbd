"""Arrays as a TFLite tensor takes them: of its own type, or floats to be quantized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.tflite.program import TfliteQuantization, TfliteTensor


def fitted(tensor: TfliteTensor, name: str, value: Any) -> Array:  # noqa: ANN401
    """The array to feed; nothing is converted in silence but floats for a quantized tensor."""
    array = np.asarray(value)
    if tensor.dtype == "string" and array.dtype.kind in "OUS":
        return array.astype(object)
    if array.dtype == numpy_dtype(tensor.dtype):
        return array
    if tensor.quantization is not None and array.dtype.kind == "f":
        return quantized(array, tensor.quantization, tensor.dtype)
    raise UsageError(
        "FEED_DTYPE",
        f"tensor {name!r} is declared {tensor.dtype} and was fed {array.dtype}",
        fix=f"convert the array: array.astype({tensor.dtype!r})",
    )


def quantized(array: Array, given: TfliteQuantization, dtype: str) -> Array:
    """Floats as TFLite's QUANTIZE writes them: float32 division, ties away from zero, clipped."""
    kind = numpy_dtype(dtype)
    limits = np.iinfo(kind) if kind.kind in "iu" else _small_limits(dtype)
    shape = [1] * array.ndim
    if given.axis is not None and array.ndim:
        shape[given.axis] = len(given.scales)
    scales = np.asarray(given.scales, np.float32).reshape(shape if given.axis is not None else ())
    zeros = np.asarray(given.zero_points, np.int64).reshape(shape if given.axis is not None else ())
    steps = array.astype(np.float32) / scales
    rounded = np.trunc(steps + np.copysign(np.float32(0.5), steps))
    whole = np.clip(rounded.astype(np.float64) + zeros, limits.min, limits.max)
    return np.asarray(whole).astype(kind)


def _small_limits(dtype: str) -> Any:  # noqa: ANN401
    import ml_dtypes

    return ml_dtypes.iinfo(numpy_dtype(dtype))
