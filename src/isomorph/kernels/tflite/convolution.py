"""TFLite's convolutions: images are NHWC, kernels OHWI; the sums are those of ONNX's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.tflite.activations import TFLITE, fused
from isomorph.kernels.tflite.hybrid import seen_by_hybrid
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_FLAT = ("h", "w")
_DEEP = ("d", "h", "w")


def channels_first(x: Array) -> Array:
    """NHWC as NCHW, laid out anew."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def channels_last(x: Array) -> Array:
    """The way back, as a view."""
    return np.moveaxis(x, 1, -1)


def auto_pad(call: Call) -> str:
    """TFLite's padding in ONNX's words: an odd pixel of SAME goes behind."""
    return "SAME_UPPER" if call.attributes.get("padding", "SAME") == "SAME" else "VALID"


def strides(call: Call, axes: tuple[str, ...] = _FLAT) -> tuple[int, ...]:
    """The strides along the spatial axes."""
    return tuple(int(call.attributes.get(f"stride_{axis}", 1)) or 1 for axis in axes)


def _dilations(call: Call, axes: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(int(call.attributes.get(f"dilation_{axis}_factor", 1)) or 1 for axis in axes)


@kernel("CONV_2D", domain=TFLITE)
def conv_2d(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """Kernels of fewer channels than the input has make groups."""
    x = seen_by_hybrid(call, x, asymmetric=True)
    groups = max(x.shape[-1] // max(w.shape[-1], 1), 1)
    return _convolved(call, x, w.transpose(0, 3, 1, 2), b, groups, _FLAT)


@kernel("DEPTHWISE_CONV_2D", domain=TFLITE)
def depthwise_conv_2d(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """Every input channel has its own kernels, as many as the multiplier states."""
    x = seen_by_hybrid(call, x, asymmetric=True)
    return _convolved(call, x, w.transpose(3, 0, 1, 2), b, x.shape[-1], _FLAT)


@kernel("CONV_3D", domain=TFLITE)
def conv_3d(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """Kernels are DHWIO."""
    groups = max(x.shape[-1] // max(w.shape[3], 1), 1)
    return _convolved(call, x, w.transpose(4, 3, 0, 1, 2), b, groups, _DEEP)


def _convolved(  # noqa: PLR0917
    call: Call, x: Array, w: Array, b: Array | None, groups: int, axes: tuple[str, ...]
) -> Array:
    return _by_standard(
        call,
        "Conv",
        (x, w, b),
        group=groups,
        auto_pad=auto_pad(call),
        strides=strides(call, axes),
        dilations=_dilations(call, axes),
    )


def _by_standard(
    call: Call,
    op: str,
    operands: tuple[Array, Array, Array | None],
    **attributes: Any,  # noqa: ANN401
) -> Array:
    """ONNX's convolution of an image with its channels last, and the fused activation."""
    x, w, b = operands
    y = standard(call, op, channels_first(x), np.ascontiguousarray(w), b, version=11, **attributes)
    return fused(call, channels_last(y))


@kernel("TRANSPOSE_CONV", domain=TFLITE)
def transpose_conv(call: Call, shape: Array, w: Array, x: Array, b: Array | None = None) -> Array:
    """The adjoint of the convolution that would make ``x`` from an image of ``shape``."""
    x = seen_by_hybrid(call, x, activation=2, asymmetric=True)
    return _spread(call, integers(shape)[1:-1], w.transpose(3, 0, 1, 2), x, b, _FLAT)


@kernel("CONV_3D_TRANSPOSE", domain=TFLITE)
def conv_3d_transpose(
    call: Call, shape: Array, w: Array, x: Array, b: Array | None = None
) -> Array:
    """The same in three dimensions; kernels are DHWOI."""
    return _spread(call, integers(shape)[1:-1], w.transpose(4, 3, 0, 1, 2), x, b, _DEEP)


def _spread(  # noqa: PLR0917
    call: Call,
    size: tuple[int, ...],
    w: Array,
    x: Array,
    b: Array | None,
    axes: tuple[str, ...],
) -> Array:
    steps, dilations = strides(call, axes), _dilations(call, axes)
    begin, end = [], []
    for axis, target in enumerate(size):
        reach = (w.shape[2 + axis] - 1) * dilations[axis] + 1
        # The padding is that of the forward convolution, from the output's size alone.
        span = target if auto_pad(call) == "SAME_UPPER" else max(target - reach + 1, 0)
        missing = max((-(-span // steps[axis]) - 1) * steps[axis] + reach - target, 0)
        begin.append(missing // 2)
        full = steps[axis] * (x.shape[1 + axis] - 1) + reach
        end.append(full - begin[-1] - target)
    pads = (*begin, *end)
    return _by_standard(
        call, "ConvTranspose", (x, w, b), strides=steps, dilations=dilations, pads=pads
    )
