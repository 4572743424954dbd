"""Fourier transforms: of a whole axis, and of the frames of a signal."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource

_BUTTERFLY = math.hypot(1.0, math.pi / math.sqrt(3.0))
"""Roundings of one stage: its sum, and a factor whose angle, up to π, was rounded before."""


@kernel("DFT")
def fourier(call: Call, x: Array, length: Array | None = None, axis: Array | None = None) -> Array:
    """The transform along one axis of pairs (real, imaginary), or of real numbers alone."""
    own = call.attributes.get("axis", 1) if call.version < 20 else -2
    place = (own if axis is None else _number(axis)) % x.ndim
    forward, onesided = not call.attributes.get("inverse", 0), call.attributes.get("onesided", 0)
    z = np.moveaxis(_joined(x), place, -1)
    if length is not None:
        n = _number(length)
    else:
        n = z.shape[-1] if forward or not onesided else 2 * (z.shape[-1] - 1)
    if n < 1:
        raise ValueError(f"a transform of {n} samples")
    if not forward and onesided:
        real = np.fft.irfft(z, n=n)
        y = real[..., None]
    else:
        whole = np.fft.fft(z, n=n) if forward else np.fft.ifft(z, n=n)
        y = _parted(whole[..., : n // 2 + 1] if onesided else whole)
    y = transformed_noise(y.astype(x.dtype), z[..., :n], n, call.noise, 1.0 if forward else 1.0 / n)
    return np.ascontiguousarray(np.moveaxis(y, -2, place))


@kernel("STFT")
def short_time(
    call: Call,
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
) -> Array:
    """The transform of every frame of a (batch, length) or (batch, length, 1 or 2) signal.

    Frames that the signal does not fill are left out; a window decides how long a frame is where
    nothing else does.
    """
    x = _joined(signal if signal.ndim == 3 else signal[:, :, None])
    step, length = _number(frame_step), x.shape[1]
    if frame_length is not None:
        length = _number(frame_length)
    elif window is not None:
        length = int(window.size)
    if step < 1 or length < 1:
        raise ValueError(f"frames of {length} every {step} samples")
    count = max((x.shape[1] - length) // step + 1, 0)
    places = step * np.arange(count)[:, None] + np.arange(length)[None, :]
    frames = x[:, places] if window is None else x[:, places] * window
    bins = length // 2 + 1 if call.attributes.get("onesided", 1) else length
    y = _parted(np.fft.fft(frames)[..., :bins]).astype(signal.dtype)
    return transformed_noise(y, frames, length, call.noise)


def transformed_noise(y: Array, x: Array, n: int, noise: NoiseSource, scale: float = 1.0) -> Array:
    """Disturb the parts ``y`` (…, bins, parts) of a transform of ``x`` (…, samples).

    A power of two takes log₂(n) stages. Every other length is made one by a chirp, whose angles
    go up to πn and are rounded as such: that is n·π/√5 roundings of every sample. A rounding is
    one of the root of the summed squares and of the bin itself, which may hold all of them.
    """
    if not noise.active:
        return y
    stages = math.sqrt(max(math.log2(max(n, 2)), 1.0)) * _BUTTERFLY
    if n & (n - 1):
        stages = math.hypot(2.0 * stages, n * math.pi / math.sqrt(5.0))
    energy = scale * np.sqrt(np.sum(np.abs(x) ** 2, axis=-1))[..., None, None]
    largest = np.sqrt(np.sum(y * y, axis=-1, keepdims=True))
    return noise.rounded(y, np.broadcast_to(np.hypot(energy, largest) * stages, y.shape))


def _joined(x: Array) -> Array:
    """Complex numbers from pairs along the last axis; real ones from singles."""
    return np.asarray(x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1])


def _parted(z: Array) -> Array:
    return np.stack([z.real, z.imag], axis=-1)


def _number(value: Array) -> int:
    return int(np.asarray(value).reshape(-1)[0])
