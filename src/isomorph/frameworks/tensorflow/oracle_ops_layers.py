"""Layers of many steps: normalization, biases, pooling in three dimensions, fused operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isomorph.frameworks.tensorflow.eval_native import execute
from isomorph.frameworks.tensorflow.oracle_ops import OPSET, find, tf_kernel
from isomorph.kernels.matmul import product
from isomorph.kernels.reductions import mean
from isomorph.kernels.registry import standard
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import holds, is_float
from isomorph.oracle.noise import Array
from isomorph.oracle.rounding_rules import complex_noise


def channels_last(call: Call) -> bool:
    """Whether channels are the last axis: NHWC and NDHWC, which is also the default."""
    return str(call.attributes.get("data_format", "NHWC")).endswith("C")


def channels_second(call: Call, x: Array) -> Array:
    """The same values with channels as axis 1, where ONNX has them."""
    return np.moveaxis(x, -1, 1) if channels_last(call) else x


def channels_back(call: Call, x: Array) -> Array:
    """The inverse of ``channels_second``."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if channels_last(call) else x


@tf_kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx")
def fused_batch_norm(call: Call, x: Array, *parameters: Array) -> tuple[Array, ...]:
    """By stored statistics, or in training mode by those of the batch, which are returned too."""
    scale, offset, running_mean, running_variance = parameters[:4]
    own = bool(call.attributes.get("is_training", True))
    y = channels_second(call, x)
    seen, spread = running_mean, running_variance
    if own:
        axes = (0, *range(2, y.ndim))
        center = mean(y, axes, call.noise)
        away = call.noise.rounded(y - center)
        seen, spread = center.reshape(-1), mean(away * away, axes, call.noise).reshape(-1)
    epsilon = call.attributes["epsilon"]
    y = standard(
        call, "BatchNormalization", y, scale, offset, seen, spread, version=15, epsilon=epsilon
    )
    y = channels_back(call, y)
    if call.op == "_FusedBatchNormEx":
        y = _activated(call, y if len(parameters) < 5 else y + parameters[4], "Identity")
    if not own:
        return _shown(call, y, seen, spread, seen, spread)
    count = max(x.size // max(seen.size, 1), 1)
    unbiased = call.noise.rounded(spread * (count / max(count - 1, 1)))
    return _shown(
        call, y, _averaged(call, running_mean, seen), _averaged(call, running_variance, unbiased),
        seen, spread,
    )  # fmt: skip


def _averaged(call: Call, before: Array, now: Array) -> Array:
    """A running average after this batch."""
    factor = call.attributes.get("exponential_avg_factor", 1.0)
    if factor == 1.0:
        return now
    old, new = (1.0 - factor) * before, factor * now
    return call.noise.rounded(old + new, np.abs(old) + np.abs(new))


def _shown(call: Call, *results: Array) -> tuple[Array, ...]:
    # The sixth output is reserved for a GPU's own data, and empty elsewhere.
    return (*results, np.zeros(0))[: call.outputs]


@tf_kernel("BiasAdd", "BiasAddV1")
def bias_add(call: Call, x: Array, bias: Array) -> Array:
    """A number for each channel, added once."""
    if not channels_last(call):
        bias = bias.reshape(-1, *(1,) * (x.ndim - 2))
    return call.noise.rounded(np.asarray(x + bias))


@tf_kernel("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def matmul(call: Call, a: Array, b: Array) -> Array:
    """A product of matrices, either of which may be turned first."""
    if any(call.attributes.get(word) for word in ("transpose_a", "adj_x")):
        a = np.swapaxes(a, -1, -2).conj()
    if any(call.attributes.get(word) for word in ("transpose_b", "adj_y")):
        b = np.swapaxes(b, -1, -2).conj()
    if np.result_type(a, b).kind == "c":
        y = np.matmul(a, b)
        sizes = np.matmul(np.abs(a), np.abs(b)) if call.noise.active else y
        return complex_noise(y, sizes, call.noise) if call.noise.active else np.asarray(y)
    return product(a, b, call.noise)


@tf_kernel("LRN")
def local_response(call: Call, x: Array) -> Array:
    """Divided by a power of the squares summed over 2·radius + 1 neighboring channels."""
    size = 2 * int(call.attributes["depth_radius"]) + 1
    y = standard(
        call, "LRN", np.moveaxis(x, -1, 1), version=OPSET,
        size=size,
        alpha=call.attributes["alpha"] * size,  # ONNX divides by the size, TensorFlow does not
        beta=call.attributes["beta"],
        bias=call.attributes["bias"],
    )  # fmt: skip
    return np.ascontiguousarray(np.moveaxis(y, 1, -1))


@tf_kernel("AvgPool3D", "MaxPool3D")
def pool_3d(call: Call, x: Array) -> Array:
    """TensorFlow pools volumes in float32 only."""
    first = 1 if channels_last(call) else 2
    y = standard(
        call, "AveragePool" if call.op == "AvgPool3D" else "MaxPool", channels_second(call, x),
        version=OPSET,
        kernel_shape=tuple(call.attributes["ksize"][first : first + 3]),
        strides=tuple(call.attributes["strides"][first : first + 3]),
        auto_pad="SAME_UPPER" if call.attributes["padding"] == "SAME" else "VALID",
    )  # fmt: skip
    return channels_back(call, y)


_FUSED = {"_FusedConv2D": "Conv2D", "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
          "_FusedMatMul": "MatMul"}  # fmt: skip


@tf_kernel(*_FUSED)
def fused(call: Call, *arrays: Array) -> Array:
    """What an optimizer joined: the product, and what follows it, one after the other."""
    from isomorph.frameworks.tensorflow.op_noise import computed_by

    inner = replace(call, op=_FUSED[call.op], outputs=1)
    y = np.asarray(computed_by(inner.op)(inner, *arrays[:2])[0])
    rest = list(arrays[2:])
    for word in call.attributes.get("fused_ops") or ():
        if word == "BiasAdd":
            y = bias_add(call, y, rest.pop(0))
        elif word == "Add":
            y = call.noise.rounded(y + rest.pop(0))
        elif word == "FusedBatchNorm":
            norm = replace(
                call, op="FusedBatchNormV3", outputs=1,
                attributes={**call.attributes, "is_training": False},
            )  # fmt: skip
            y = fused_batch_norm(norm, y, *rest[:4])[0]
            rest = rest[4:]
        else:
            y = _activated(call, y, word)
    return y


def _activated(call: Call, y: Array, word: str) -> Array:
    word = str(call.attributes.get("activation_mode", word))
    if word == "Identity":
        return y
    alpha = call.attributes.get("leakyrelu_alpha", 0.2)
    step = replace(call, op=word, outputs=1, attributes={"alpha": alpha})
    kernel = find(word)
    if kernel is not None:
        return np.asarray(kernel(step, y))
    return np.asarray(execute(word, {"T": "float64"}, [y], 1, wide=True)[0])


@tf_kernel("Cast")
def cast(call: Call, x: Array) -> Any:  # noqa: ANN401
    """Another type. A wider float type changes nothing, a narrower one rounds."""
    source, target = call.attributes["SrcT"], call.attributes["DstT"]
    if is_float(source) and is_float(target) and holds(target, source):
        return x
    dtype = {"float64": "float64", "complex128": "complex128"}.get(x.dtype.name, source)
    attributes = {**call.attributes, "SrcT": dtype}
    return execute("Cast", attributes, [x], 1, wide=False)[0]
