"""Operators of MIL that place, find or sample numbers, and activations with a number each."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.mil import COREML, masked_slices
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.noise import Array

_VERSION = 24


@kernel("Exp2", domain=COREML)
def power_of_two(call: Call, x: Array) -> Array:
    """2ˣ."""
    y = np.asarray(np.exp2(x))
    return call.noise.rounded(y, 2.0 * np.abs(y))


@kernel("ClampedRelu", domain=COREML)
def clamped_relu(call: Call, x: Array) -> Array:
    """X or alpha·x below zero, and beta at most."""
    alpha, beta = (x.dtype.type(call.attributes[name]) for name in ("alpha", "beta"))
    y = standard(call, "LeakyRelu", x, version=_VERSION, alpha=float(alpha))
    return np.asarray(np.minimum(y, beta))


@kernel("SoftplusParametric", domain=COREML)
def softplus(call: Call, x: Array, alpha: Array, beta: Array) -> Array:
    """Alpha·log(1 + exp(beta·x)) with both numbers for each channel."""
    shape = (-1, *(1,) * (x.ndim - 2))
    inner = call.noise.rounded(x * beta.reshape(shape))
    y = np.asarray(standard(call, "Softplus", inner, version=_VERSION))
    return call.noise.rounded(y * alpha.reshape(shape))


@kernel("OneHot", domain=COREML)
def one_hot(call: Call, indices: Array, size: Array) -> Array:
    """The one value at the place that an index names, the other value elsewhere."""
    given = call.attributes
    kind = numpy_dtype(given["to"])
    axis = given["axis"] % (indices.ndim + 1)
    places = np.expand_dims(indices, axis)
    shape = [-1 if each == axis else 1 for each in range(places.ndim)]
    numbers = np.arange(int(np.ravel(size)[0])).reshape(shape)
    on, off = kind.type(given["on"]), kind.type(given["off"])
    return np.asarray(np.where(places == numbers, on, off))


@kernel("NonZero", domain=COREML)
def non_zero(call: Call, x: Array) -> Array:
    """The places of what is not zero, one in each row."""
    return np.argwhere(x).astype(np.int32)


@kernel("FillLike", domain=COREML)
def fill_like(call: Call, x: Array) -> Array:
    """One number in the shape of a tensor."""
    return np.full(x.shape, call.attributes["value"], numpy_dtype(call.attributes["to"]))


@kernel("SliceUpdate", domain=COREML)
def slice_update(call: Call, x: Array, update: Array, begin: Array, end: Array) -> Array:
    """A part of each axis replaced; it is stated as that of a slice."""
    y = x.copy()
    cuts = masked_slices(call.attributes, x.shape, begin, end)
    y[cuts] = update.reshape(y[cuts].shape)
    return y


@kernel("Resample", domain=COREML)
def resample(call: Call, x: Array, grid: Array) -> Array:
    """The image at the coordinates of a grid, between −1 and 1."""
    given = call.attributes
    words = {name: given[name] for name in ("mode", "padding_mode", "align_corners")}
    return np.asarray(standard(call, "GridSample", x, grid, version=_VERSION, **words))
