"""TFLite's activation functions, as operators and fused behind others."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array, NoiseSource

TFLITE = "tflite"

_CLIPS: dict[str, tuple[float, float]] = {
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def activated(name: str, x: Array, noise: NoiseSource) -> Array:
    """The activation of this name; only a hyperbolic tangent rounds."""
    if name in ("NONE", ""):
        return x
    if name in _CLIPS:
        low, high = _CLIPS[name]
        y = np.maximum(x, x.dtype.type(low))
        return np.asarray(y if np.isinf(high) else np.minimum(y, x.dtype.type(high)))
    if name == "TANH":
        return noise.rounded(np.tanh(x), 1.0)
    if name == "SIGN_BIT":
        return np.signbit(x).astype(x.dtype)
    raise ValueError(f"there is no activation {name!r}")


def fused(call: Call, y: Array) -> Array:
    """``y`` behind the activation that the operator's options name."""
    name = call.attributes.get("fused_activation_function", "NONE")
    return activated(str(name), y, call.noise)


@kernel(*_CLIPS, domain=TFLITE)
def clipped(call: Call, x: Array) -> Array:
    """Within the bounds of the operator's name; NaN stays."""
    return activated(call.op, x, call.noise)


_ONNX = {
    "LOGISTIC": ("Sigmoid", 13),
    "TANH": ("Tanh", 13),
    "ELU": ("Elu", 6),
    "HARD_SWISH": ("HardSwish", 14),
    "LEAKY_RELU": ("LeakyRelu", 16),
    "GELU": ("Gelu", 20),
}


@kernel(*_ONNX, domain=TFLITE)
def smooth(call: Call, x: Array) -> Array:
    """The functions that ONNX has too."""
    op, version = _ONNX[call.op]
    stated: dict[str, Any] = {}
    if call.op == "LEAKY_RELU":
        stated["alpha"] = call.attributes.get("alpha", 0.0)
    elif call.op == "GELU":
        stated["approximate"] = "tanh" if call.attributes.get("approximate") else "none"
    return np.asarray(standard(call, op, x, version=version, **stated))


@kernel("PRELU", domain=TFLITE)
def prelu(call: Call, x: Array, slope: Array) -> Array:
    """x, or slope·x below zero; the slope broadcasts."""
    return np.asarray(standard(call, "PRelu", x, slope, version=16))
