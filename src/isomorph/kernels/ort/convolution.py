"""ONNX Runtime's convolutions and pools: fused, channels last, with pads at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.ort.activations import activation_by_list
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


def _window(call: Call, spatial: int) -> dict[str, Any]:
    """How the node's window moves, completed."""
    given = call.attributes
    return {
        "auto_pad": given.get("auto_pad", "NOTSET"),
        "dilations": list(given.get("dilations") or [1] * spatial),
        "pads": list(given.get("pads") or [0] * (2 * spatial)),
        "strides": list(given.get("strides") or [1] * spatial),
    }


def convolve(call: Call, x: Array, w: Array, bias: Array | None = None) -> Array:
    """Conv with the node's own attributes, completed."""
    attributes = {
        **_window(call, x.ndim - 2),
        "group": int(call.attributes.get("group", 1)),
        "kernel_shape": list(w.shape[2:]),
    }
    return np.asarray(standard(call, "Conv", x, w, bias, version=11, **attributes))


def pool(call: Call, op: str, x: Array, **further: Any) -> Array:  # noqa: ANN401
    """MaxPool or AveragePool with the node's own attributes, completed."""
    attributes: dict[str, Any] = {
        **_window(call, x.ndim - 2),
        "ceil_mode": int(call.attributes.get("ceil_mode", 0)),
        "kernel_shape": list(call.attributes["kernel_shape"]),
        **further,
    }
    version = 12 if op == "MaxPool" else 19
    result = standard(call, op, x, version=version, **attributes)
    return np.asarray(result[0] if isinstance(result, tuple) else result)


@kernel("FusedConv", domain=MICROSOFT)
def fused_conv(
    call: Call, x: Array, w: Array, bias: Array | None = None, residual: Array | None = None
) -> Array:
    """activation(Conv(x) + residual)."""
    y = convolve(call, x, w, bias)
    if residual is not None:
        y = call.noise.rounded(y + residual)
    return activation_by_list(call, y)


@kernel("NhwcConv", "NhwcFusedConv", domain=MICROSOFT)
def nhwc_conv(
    call: Call, x: Array, w: Array, bias: Array | None = None, residual: Array | None = None
) -> Array:
    """The same with channels last; the weights keep ONNX's order."""
    y = np.moveaxis(convolve(call, np.moveaxis(x, -1, 1), w, bias), 1, -1)
    if residual is not None:
        y = call.noise.rounded(y + residual)
    return activation_by_list(call, y)


@kernel("NhwcMaxPool", domain=MICROSOFT)
def nhwc_max_pool(call: Call, x: Array) -> Array:
    """Channels last; of quantized tensors too, since the order of integers is that of reals."""
    pooled = pool(call, "MaxPool", np.moveaxis(x, -1, 1), storage_order=0)
    return np.moveaxis(pooled, 1, -1)


@kernel("MaxpoolWithMask", domain=MICROSOFT)
def max_pool_with_mask(call: Call, x: Array, mask: Array) -> Array:
    """A masked element ends the row of its window; a window without any gives the lowest float.

    That is what ONNX Runtime computes: rows are taken for sequences whose tail is masked. It
    never takes the very first element of a channel for masked.
    """
    given, spatial = call.attributes, x.ndim - 2
    lowest = x.dtype.type(np.finfo(np.float32).min)
    pads = list(given.get("pads") or [0] * (2 * spatial))
    around = [(0, 0), (0, 0), *zip(pads[:spatial], pads[spatial:], strict=True)]
    shown = np.resize(mask, x.shape) != 0
    shown[(slice(None), slice(None), *([0] * spatial))] = True
    window, axes = tuple(given["kernel_shape"]), tuple(range(2, x.ndim))
    steps = [slice(None, None, step) for step in given.get("strides") or [1] * spatial]
    values, shows = (
        np.lib.stride_tricks.sliding_window_view(
            np.pad(each, around, constant_values=outside), window, axis=axes
        )[(slice(None), slice(None), *steps)]
        for each, outside in ((x, lowest), (shown, True))
    )
    reached = np.logical_and.accumulate(shows, axis=-1)
    return np.asarray(np.where(reached, values, lowest).max(axis=tuple(range(-spatial, 0))))


@kernel("ConvTransposeWithDynamicPads", domain=MICROSOFT)
def conv_transpose_with_dynamic_pads(
    call: Call, x: Array, w: Array, pads: Array | None = None, bias: Array | None = None
) -> Array:
    """ConvTranspose whose pads are an input."""
    given, spatial = call.attributes, x.ndim - 2
    attributes = {
        **_window(call, spatial),
        "group": int(given.get("group", 1)),
        "kernel_shape": list(w.shape[2:]),
        "output_padding": list(given.get("output_padding") or [0] * spatial),
        "pads": [0] * (2 * spatial) if pads is None else [int(each) for each in pads],
    }
    return np.asarray(standard(call, "ConvTranspose", x, w, bias, version=11, **attributes))
