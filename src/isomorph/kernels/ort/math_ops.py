"""ONNX Runtime's operators of linear algebra, of Fourier transforms and of masked softmax."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


@kernel("Inverse", domain=MICROSOFT)
def inverse(call: Call, x: Array) -> Array:
    """Of each matrix; its rounding grows with the matrix's condition."""
    y = np.linalg.inv(x.astype(np.float64))
    if call.noise.active:
        # Every elimination is exact for a matrix one rounding away; its inverse shows the spread.
        y = np.linalg.inv(call.noise.rounded(x.astype(np.float64), _row_size(x)))
    return np.asarray(call.noise.rounded(y).astype(x.dtype))


def _row_size(x: Array) -> Array:
    return np.broadcast_to(np.abs(x).max(axis=-1, keepdims=True), x.shape)


@kernel("CDist", domain=MICROSOFT)
def cdist(call: Call, a: Array, b: Array) -> Array:
    """Squared or plain Euclidean distance of each row of A to each of B."""
    difference = a[:, None] - b[None]
    squares = np.sum(difference * difference, axis=-1)
    # Runtimes expand (a−b)² into a² − 2ab + b², which cancels.
    size = np.sum(a * a, axis=-1)[:, None] + np.sum(b * b, axis=-1)[None]
    squares = call.noise.reduced(squares, lambda: 2 * size, a.shape[-1])
    squares = np.maximum(squares, 0) if call.noise.active else squares
    metric = call.attributes.get("metric", "sqeuclidean")
    return np.asarray(call.noise.rounded(np.sqrt(squares)) if metric == "euclidean" else squares)


@kernel("Rfft", domain=MICROSOFT)
def rfft(call: Call, x: Array) -> Array:
    """One-sided, not normalized, over the last ``signal_ndim`` axes; real and imaginary last."""
    axes = tuple(range(-int(call.attributes.get("signal_ndim", 1)), 0))
    spectrum = np.fft.rfftn(x, axes=axes)
    pairs = np.stack([spectrum.real, spectrum.imag], axis=-1).astype(x.dtype)
    return _transform_noise(call, pairs, x, axes)


@kernel("Irfft", domain=MICROSOFT)
def irfft(call: Call, x: Array) -> Array:
    """The inverse, of even length."""
    axes = tuple(range(-int(call.attributes["signal_ndim"]), 0))
    signal = np.fft.irfftn(x[..., 0] + 1j * x[..., 1], axes=axes).astype(x.dtype)
    return _transform_noise(call, signal, x, None)


def _transform_noise(call: Call, y: Array, x: Array, axes: tuple[int, ...] | None) -> Array:
    """A transform rounds log₂(length) times at the size of the whole spectrum."""
    length = x.shape[-1] if axes else y.shape[-1]
    size = np.sqrt(np.mean(np.square(y))) * np.sqrt(max(np.log2(max(length, 2)), 1.0))
    return np.asarray(call.noise.rounded(y, np.abs(y) + size))


@kernel("ComplexMul", "ComplexMulConj", domain=MICROSOFT)
def complex_mul(call: Call, a: Array, b: Array) -> Array:
    """Products of (real, imaginary) pairs; of A with the conjugate of B."""
    sign = -1.0 if call.op == "ComplexMulConj" else 1.0
    real = a[..., 0] * b[..., 0] - sign * a[..., 1] * b[..., 1]
    imaginary = a[..., 1] * b[..., 0] + sign * a[..., 0] * b[..., 1]
    size = np.hypot(a[..., 0], a[..., 1]) * np.hypot(b[..., 0], b[..., 1])
    return np.stack([call.noise.rounded(part, size) for part in (real, imaginary)], axis=-1)


@kernel("BiasSoftmax", domain=MICROSOFT)
def bias_softmax(call: Call, x: Array, bias: Array) -> Array:
    """Softmax of x + bias over everything from ``axis`` on."""
    axis = int(call.attributes.get("axis", 1)) % x.ndim
    scores = call.noise.rounded(x + bias)
    flat = scores.reshape(*x.shape[:axis], -1)
    return np.asarray(standard(call, "Softmax", flat, version=13, axis=-1)).reshape(x.shape)
