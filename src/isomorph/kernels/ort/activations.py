"""ONNX Runtime's activations, alone, with a bias, or fused behind another operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"

_PARAMETERS: dict[str, tuple[tuple[str, float], ...]] = {
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
    "Softplus": (),
    "Softsign": (),
    "HardSwish": (),
    "Mish": (),
    "LeakyRelu": (("alpha", 0.01),),
    "Elu": (("alpha", 1.0),),
    "Celu": (("alpha", 1.0),),
    "ThresholdedRelu": (("alpha", 1.0),),
    "HardSigmoid": (("alpha", 0.2), ("beta", 0.5)),
    "Selu": (("alpha", 1.6732632423543772), ("gamma", 1.0507009873554805)),
}
"""The activations that may be fused, with their parameters in order and their defaults."""


def activate(call: Call, y: Array, name: str | None, parameters: tuple[Any, ...]) -> Array:
    """``y`` behind the fused activation; parameters by position, None for the default."""
    if not name:
        return y
    if name == "Clip":
        low, high = (*parameters, None, None)[:2]
        return np.asarray(np.clip(y, low, high), dtype=y.dtype)
    if name in {"Silu", "SiLU", "Swish"}:
        return silu(call, y)
    if name in {"Gelu", "FastGelu"}:
        return _gelu(call, y, "none" if name == "Gelu" else "tanh")
    if name not in _PARAMETERS:
        raise UnreadableModelError(
            "UNSUPPORTED_OP",
            f"the fused activation {name!r} of a {call.op} node is not known",
            why=f"known: {', '.join(sorted(_PARAMETERS))}, Clip, Gelu, Silu",
        )
    # Parameters that are not stated have their defaults.
    stated = dict(zip((key for key, _ in _PARAMETERS[name]), parameters, strict=False))
    attributes: dict[str, Any] = {
        key: default if stated.get(key) is None else float(stated[key])
        for key, default in _PARAMETERS[name]
    }
    return np.asarray(standard(call, name, y, version=22, **attributes))


def activation_by_list(call: Call, y: Array) -> Array:
    """Convolutions state their activation's parameters as one list."""
    stated = call.attributes.get("activation_params") or ()
    return activate(call, y, call.attributes.get("activation"), tuple(stated))


def activation_by_name(call: Call, y: Array) -> Array:
    """Matrix products state them as ``activation_alpha``, ``_beta`` and ``_gamma``."""
    given: Mapping[str, Any] = call.attributes
    name = given.get("activation")
    if name == "Softmax":
        axis = int(given.get("activation_axis", -1))
        return np.asarray(standard(call, "Softmax", y, version=13, axis=axis))
    keys = [key for key, _ in _PARAMETERS.get(str(name), ())] or ["alpha", "beta"]
    return activate(call, y, name, tuple(given.get(f"activation_{key}") for key in keys))


def silu(call: Call, x: Array, alpha: float = 1.0) -> Array:
    """x·sigmoid(alpha·x)."""
    gate = standard(call, "Sigmoid", x * x.dtype.type(alpha), version=13)
    return np.asarray(call.noise.rounded(x * gate, np.abs(x)))


@kernel("Gelu", domain=MICROSOFT)
def gelu(call: Call, x: Array) -> Array:
    """The exact form, with erf."""
    return _gelu(call, x, "none")


@kernel("BiasGelu", domain=MICROSOFT)
def bias_gelu(call: Call, x: Array, bias: Array) -> Array:
    """The exact form behind a bias."""
    return _gelu(call, _sum(call, x, bias), "none")


@kernel("FastGelu", domain=MICROSOFT)
def fast_gelu(call: Call, x: Array, bias: Array | None = None) -> Array:
    """The tanh form, behind an optional bias."""
    return _gelu(call, x if bias is None else _sum(call, x, bias), "tanh")


@kernel("QuickGelu", domain=MICROSOFT)
def quick_gelu(call: Call, x: Array) -> Array:
    """x·sigmoid(1.702·x), or another slope."""
    return silu(call, x, float(call.attributes.get("alpha", np.float32(1.702))))


@kernel("ScaledSiLU", domain=MICROSOFT)
def scaled_silu(call: Call, x: Array, scale: Array | None = None) -> Array:
    """SiLU of x times a scale; the attribute ``alpha`` where the input is absent."""
    factor = call.attributes.get("alpha", 1.0) if scale is None else np.reshape(scale, ())
    return silu(call, call.noise.rounded(x * np.asarray(factor, x.dtype)))


@kernel("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(call: Call, x: Array, bias: Array) -> Array:
    """The left half of the last axis times the GELU of the right one."""
    left, right = np.split(_sum(call, x, bias), 2, axis=-1)
    return np.asarray(call.noise.rounded(left * _gelu(call, right, "none")))


@kernel("BiasAdd", domain=MICROSOFT)
def bias_add(call: Call, x: Array, bias: Array, skip: Array) -> Array:
    """Input + bias + residual."""
    return _sum(call, x, bias, skip)


@kernel("GatedAdd", domain=MICROSOFT)
def gated_add(call: Call, x: Array, y: Array, gate: Array) -> Array:
    """The sum of x and y·gate."""
    return _sum(call, x, call.noise.rounded(y * gate))


def _gelu(call: Call, x: Array, approximate: str) -> Array:
    return np.asarray(standard(call, "Gelu", x, version=20, approximate=approximate))


def _sum(call: Call, first: Array, *others: Array) -> Array:
    total = first
    for other in others:
        total = call.noise.rounded(total + other)
    return np.asarray(total)
