"""What the operators mean that ONNX Runtime writes into optimized files, for proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frameworks.onnx.meanings_windows import WINDOWS
from isomorph.proof import spelling as spell
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _activated(call: Call, y: Term, parameters: Sequence[Any]) -> Term:
    """A result behind the activation that the operator fuses."""
    t, name, given = call.terms, call.attr("activation", ""), tuple(parameters)
    counts = {"": 0, "Relu": 0, "Sigmoid": 0, "Tanh": 0, "LeakyRelu": 1, "Clip": 2,
              "HardSigmoid": 2}  # fmt: skip
    if name not in counts or len(given) != counts[name] or any(each is None for each in given):
        raise NoMeaningError(f"a fused {name} with {len(given)} parameters")
    numbers = [t.number(float(each), y.dtype) for each in given]
    match name:
        case "Relu":
            return spell.relu(t, y)
        case "Sigmoid":
            return spell.sigmoid(t, y)
        case "Tanh":
            return spell.unary(t, "tanh", y)
        case "LeakyRelu":
            return spell.leaky_relu(t, y, numbers[0])
        case "Clip":
            return spell.clip(t, y, *numbers)
        case "HardSigmoid":
            return spell.hard_sigmoid(t, y, *numbers)
        case _:
            return y


def _fused_conv(call: Call) -> Sequence[Term]:
    """activation(convolution + residual)."""
    call.only(2, 3, 4)
    (y,) = WINDOWS["Conv"](replace(call, inputs=call.inputs[:3]))
    residual = call.optional(3)
    y = y if residual is None else call.terms.add(y, residual)
    return (_activated(call, y, call.attr("activation_params") or ()),)


def _fused_matmul(call: Call) -> Sequence[Term]:
    """Alpha · A · B, with the last two axes of either swapped."""
    call.only(2)
    t, a, b = call.terms, call.x(0), call.x(1)
    call.refuse("transBatchA", 0)
    call.refuse("transBatchB", 0)
    if min(a.rank, b.rank) < 2:
        raise NoMeaningError("a product with a vector")
    a = spell.swapped(t, a) if call.attr("transA", 0) else a
    b = spell.swapped(t, b) if call.attr("transB", 0) else b
    return (t.mul(t.matmul(a, b), t.number(float(call.attr("alpha", 1.0)), a.dtype)),)


def _fused_gemm(gemm: Meaning) -> Meaning:
    """Gemm behind an activation."""

    def meaning(call: Call) -> Sequence[Term]:
        (y,) = gemm(call)
        words, name = ("alpha", "beta", "gamma"), call.attr("activation", "")
        stated = {word: call.attr(f"activation_{word}") for word in words}
        wanted = {"LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta")}.get(name, ())
        # The kernel reads its parameters by their names, and has no others.
        if name == "Clip" or {word for word in words if stated[word] is not None} != set(wanted):
            raise NoMeaningError(f"a fused {name} with other parameters")
        return (_activated(call, y, [stated[word] for word in wanted]),)

    return meaning


def _gelu(function: Callable[..., Term]) -> Meaning:
    """GELU behind a bias, if there is one."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(1, 2)
        x, bias = call.x(), call.optional(1)
        x = x if bias is None else call.terms.add(x, bias)
        return (function(call.terms, call.implied, x),)

    return meaning


def _quick_gelu(call: Call) -> Sequence[Term]:
    """The tensor times the sigmoid of a multiple of it."""
    call.only(1)
    t, x = call.terms, call.x()
    slope = t.number(float(call.attr("alpha", 1.702)), x.dtype)
    return (t.mul(x, spell.sigmoid(t, t.mul(x, slope))),)


def _stated_outputs(call: Call, *allowed: int) -> None:
    for place, name in enumerate(call.node.outputs):
        if name and place not in allowed:
            raise NoMeaningError("the statistics of a normalization")


def _skip_layer_norm(function: Callable[..., Term], *, shifts: bool) -> Meaning:
    """The normalization of a sum of two tensors and a bias; the sum is a further output."""

    def meaning(call: Call) -> Sequence[Term]:
        _stated_outputs(call, 0, 3)
        t, last = call.terms, 4 if shifts else 3
        call.only(*range(3, last + 2))
        if call.x(0).shape != call.x(1).shape:
            raise NoMeaningError("a shortcut of another shape")
        total = t.add(call.x(0), call.x(1))
        bias = call.optional(last)
        total = total if bias is None else t.add(total, bias)
        epsilon = float(call.attr("epsilon", np.float32(1e-12)))
        y = function(t, total, (total.rank - 1,), epsilon)
        shift = call.optional(3) if shifts else None
        return (spell.scaled_and_shifted(t, y, call.x(2), shift), total, total, total)

    return meaning


def rms_norm(call: Call) -> Sequence[Term]:
    """Also of the older name, which ONNX Runtime writes into ONNX's own domain."""
    call.only(2)
    _stated_outputs(call, 0)
    call.refuse("stash_type", 1)
    t, x = call.terms, call.x()
    axes = tuple(range(t.axis(x, int(call.attr("axis", -1))), x.rank))
    y = spell.rms_normalized(t, x, axes, float(call.attr("epsilon", 1e-5)))
    return (t.mul(y, call.x(1)),)


def fused_meanings(gemm: Meaning) -> dict[str, Meaning]:
    """By native name; ``gemm`` is the meaning of the plain product."""
    named = {
        "FusedConv": _fused_conv,
        "FusedMatMul": _fused_matmul,
        "FusedGemm": _fused_gemm(gemm),
        "Gelu": _gelu(spell.gelu),
        "BiasGelu": _gelu(spell.gelu),
        "FastGelu": _gelu(spell.gelu_tanh),
        "QuickGelu": _quick_gelu,
        "SkipLayerNormalization": _skip_layer_norm(spell.normalized, shifts=True),
        "SkipSimplifiedLayerNormalization": _skip_layer_norm(spell.rms_normalized, shifts=False),
    }
    found: dict[str, Meaning] = {f"com.microsoft::{name}": each for name, each in named.items()}
    return {**found, "SimplifiedLayerNormalization": rms_norm}
