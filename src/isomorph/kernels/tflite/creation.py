"""TFLite's operators that make tensors from shapes, and its Fourier transform."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array
from isomorph.oracle.rounding_rules import complex_noise


@kernel("SHAPE", domain=TFLITE)
def shape(call: Call, x: Array) -> Array:
    """The sizes of the axes."""
    return np.array(np.shape(x), dtype=np.int64)


@kernel("RANK", domain=TFLITE)
def rank(call: Call, x: Array) -> Array:
    """How many axes there are."""
    return np.array(np.ndim(x), dtype=np.int32)


@kernel("FILL", domain=TFLITE)
def fill(call: Call, dims: Array, value: Array) -> Array:
    """One value everywhere."""
    return np.full(integers(dims), np.asarray(value).reshape(-1)[0], np.asarray(value).dtype)


@kernel("ZEROS_LIKE", domain=TFLITE)
def zeros_like(call: Call, x: Array) -> Array:
    """Zero everywhere."""
    return np.zeros_like(x)


@kernel("RANGE", domain=TFLITE)
def span(call: Call, start: Array, limit: Array, delta: Array) -> Array:
    """From start to limit; how many there are is decided in the declared type."""
    return np.asarray(standard(call, "Range", start, limit, delta, version=11))


@kernel("RFFT2D", domain=TFLITE)
def rfft2d(call: Call, x: Array, lengths: Array) -> Array:
    """The two-dimensional Fourier transform of real numbers, in complex128 once lifted."""
    sizes = integers(lengths)
    wide = np.asarray(np.fft.rfft2(x.astype(np.float64), s=sizes))
    if not call.noise.active:
        return wide
    # Every butterfly rounds at the size of the partial sums, which is that of the whole
    # spectrum, however small one bin is.
    stages = math.log2(max(math.prod(sizes), 2))
    size = math.sqrt(stages * float(np.mean(np.abs(wide) ** 2))) if wide.size else 0.0
    return complex_noise(wide, np.full(wide.shape, size), call.noise)


@kernel("REAL", "IMAG", domain=TFLITE)
def part(call: Call, x: Array) -> Array:
    """One half of a complex number."""
    return np.asarray(x.real if call.op == "REAL" else x.imag, order="C")


@kernel("COMPLEX_ABS", domain=TFLITE)
def modulus(call: Call, x: Array) -> Array:
    """The length of a complex number."""
    return call.noise.rounded(np.abs(x))
