"""ONNX Runtime's convolutions and pools: fused, channels last, with pads at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.microsoft_activations import activation_by_list
from isomorph.kernels.noise import Array
from isomorph.kernels.table import Call, kernel, standard

MICROSOFT = "com.microsoft"


def convolve(call: Call, x: Array, w: Array, bias: Array | None = None) -> Array:
    """Conv with the node's own attributes, completed."""
    given, spatial = call.attributes, x.ndim - 2
    y = standard(
        call,
        "Conv",
        x,
        w,
        bias,
        version=11,
        auto_pad=given.get("auto_pad", "NOTSET"),
        dilations=list(given.get("dilations") or [1] * spatial),
        group=int(given.get("group", 1)),
        kernel_shape=list(w.shape[2:]),
        pads=list(given.get("pads") or [0] * (2 * spatial)),
        strides=list(given.get("strides") or [1] * spatial),
    )
    return np.asarray(y)


def pool(call: Call, op: str, x: Array, **further: Any) -> Array:  # noqa: ANN401
    """MaxPool or AveragePool with the node's own attributes, completed."""
    given, spatial = call.attributes, x.ndim - 2
    attributes: dict[str, Any] = {
        "auto_pad": given.get("auto_pad", "NOTSET"),
        "ceil_mode": int(given.get("ceil_mode", 0)),
        "dilations": list(given.get("dilations") or [1] * spatial),
        "kernel_shape": list(given["kernel_shape"]),
        "pads": list(given.get("pads") or [0] * (2 * spatial)),
        "strides": list(given.get("strides") or [1] * spatial),
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
    """Channels last; of quantised tensors too, since the order of integers is that of reals."""
    pooled = pool(call, "MaxPool", np.moveaxis(x, -1, 1), storage_order=0)
    return np.moveaxis(pooled, 1, -1)


@kernel("MaxpoolWithMask", domain=MICROSOFT)
def max_pool_with_mask(call: Call, x: Array, mask: Array) -> Array:
    """Elements whose mask is 0 never win; a window without any other gives the lowest float."""
    lowest = np.finfo(np.float32).min
    hidden = np.broadcast_to(mask == 0, x.shape)
    masked = np.where(hidden, x.dtype.type(lowest), x)
    pooled = pool(call, "MaxPool", masked, storage_order=0)
    return np.asarray(np.maximum(pooled, x.dtype.type(lowest)))


@kernel("ConvTransposeWithDynamicPads", domain=MICROSOFT)
def conv_transpose_with_dynamic_pads(
    call: Call, x: Array, w: Array, pads: Array | None = None, bias: Array | None = None
) -> Array:
    """ConvTranspose whose pads are an input."""
    given, spatial = call.attributes, x.ndim - 2
    y = standard(
        call,
        "ConvTranspose",
        x,
        w,
        bias,
        version=11,
        auto_pad=given.get("auto_pad", "NOTSET"),
        dilations=list(given.get("dilations") or [1] * spatial),
        group=int(given.get("group", 1)),
        kernel_shape=list(w.shape[2:]),
        output_padding=list(given.get("output_padding") or [0] * spatial),
        pads=[0] * (2 * spatial) if pads is None else [int(each) for each in pads],
        strides=list(given.get("strides") or [1] * spatial),
    )
    return np.asarray(y)
