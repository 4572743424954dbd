"""What ATen's reductions, normalizations, products and attention mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from isomorph.frameworks.pytorch.meanings_arguments import scalar
from isomorph.proof import spelling as spell
from isomorph.proof.calls import Call, Meaning
from isomorph.proof.term import NoMeaningError, Term


def _dims(call: Call, x: Term, name: str = "dim") -> tuple[int, ...]:
    stated = call.attr(name)
    if stated is None or stated == ():
        return tuple(range(x.rank))
    return (int(stated),) if isinstance(stated, int) else tuple(int(each) for each in stated)


def _reduced(function: Callable[..., Term]) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        x = call.x()
        if call.attr("dtype") not in (None, x.dtype):
            raise NoMeaningError(f"a sum in {call.attr('dtype')}")
        return (function(call.terms, x, _dims(call, x), kept=bool(call.attr("keepdim", False))),)

    return meaning


def _variance(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    correction = call.attr("correction", 1)
    if "unbiased" in call.node.attributes:
        correction = 1 if call.attr("unbiased") else 0
    axes, kept = _dims(call, x), bool(call.attr("keepdim", False))
    count = math.prod(x.shape[t.axis(x, axis)] for axis in axes)
    divisor = count - (1 if correction is None else int(correction))
    if divisor < 1:
        raise NoMeaningError("the variance of too few elements")
    centered = t.sub(x, spell.mean(t, x, axes, kept=True))
    squares = spell.total(t, t.mul(centered, centered), axes, kept=kept)
    return (t.mul(squares, spell.fraction(t, divisor, x.dtype)),)


def _softmax(function: Callable[..., Term]) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        x = call.x()
        if call.attr("dtype") not in (None, x.dtype) or call.attr("half_to_float", False):
            raise NoMeaningError("softmax in another type")
        return (function(call.terms, x, int(call.needs("dim"))),)

    return meaning


def _linear(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    return (spell.linear(call.terms, call.x(0), call.x(1), call.optional(2)),)


def _addmm(call: Call) -> Sequence[Term]:
    call.only(3)
    t, bias, a, b = call.terms, call.x(0), call.x(1), call.x(2)
    y = t.mul(t.matmul(a, b), scalar(call, "alpha", a.dtype))
    return (t.add(t.mul(bias, scalar(call, "beta", a.dtype)), y),)


def _layer_norm(call: Call) -> Sequence[Term]:
    if len([name for name in call.node.outputs if name]) > 1:
        raise NoMeaningError("the statistics of a normalization")
    t, x = call.terms, call.x()
    shape = tuple(int(size) for size in call.needs("normalized_shape"))
    if shape != x.shape[x.rank - len(shape) :]:
        raise NoMeaningError("a shape that does not fit")
    axes = tuple(range(x.rank - len(shape), x.rank))
    y = spell.normalized(t, x, axes, float(call.needs("eps")))
    return (spell.scaled_and_shifted(t, y, call.optional(1), call.optional(2)),)


def _rms_norm(call: Call) -> Sequence[Term]:
    call.only(1, 2)
    t, x = call.terms, call.x()
    shape = tuple(int(size) for size in call.needs("normalized_shape"))
    epsilon = call.needs("eps")
    if epsilon is None or shape != x.shape[x.rank - len(shape) :]:
        raise NoMeaningError("an epsilon that depends on the machine")
    axes = tuple(range(x.rank - len(shape), x.rank))
    y = spell.rms_normalized(t, x, axes, float(epsilon))
    return (spell.scaled_and_shifted(t, y, call.optional(1), None),)


def _batch_norm(call: Call) -> Sequence[Term]:
    call.only(5)
    if call.attr("training", False) is not False:
        raise NoMeaningError("normalization in training")
    if len([name for name in call.node.outputs if name]) > 1:
        raise NoMeaningError("the statistics of a normalization")
    x, scale, shift = call.x(0), call.optional(1), call.optional(2)
    epsilon = float(call.needs("eps"))
    return (
        spell.batch_norm(
            call.terms, x, scale=scale, shift=shift, average=call.x(3), variance=call.x(4),
            epsilon=epsilon,
        ),
    )  # fmt: skip


def _group_norm(call: Call) -> Sequence[Term]:
    call.only(1, 2, 3)
    groups, epsilon = int(call.needs("num_groups")), float(call.needs("eps"))
    scale, shift = call.optional(1), call.optional(2)
    return (
        spell.group_norm(call.terms, call.x(), groups, scale=scale, shift=shift, epsilon=epsilon),
    )


def _instance_norm(call: Call) -> Sequence[Term]:
    if call.attr("use_input_stats") is not True:
        raise NoMeaningError("normalization by stored statistics")
    x, epsilon = call.x(), float(call.needs("eps"))
    scale, shift = call.optional(1), call.optional(2)
    return (spell.group_norm(call.terms, x, x.shape[1], scale=scale, shift=shift, epsilon=epsilon),)


def _gelu(call: Call) -> Sequence[Term]:
    call.only(1)
    exact = call.attr("approximate", "none") == "none"
    function = spell.gelu if exact else spell.gelu_tanh
    return (function(call.terms, call.implied, call.x()),)


def _attention(call: Call) -> Sequence[Term]:
    call.only(3, 4)
    if call.attr("dropout_p", 0.0) not in (0, 0.0) or call.attr("enable_gqa", False):
        raise NoMeaningError("dropout or grouped queries in attention")
    scale = call.attr("scale")
    if scale is not None and not isinstance(scale, (int, float)):
        raise NoMeaningError("a computed scale")
    return (
        spell.attention(
            call.terms, call.implied, (call.x(0), call.x(1), call.x(2)),
            mask=call.optional(3), causal=bool(call.attr("is_causal", False)), scale=scale,
        ),
    )  # fmt: skip


def _argmax(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x, dim = call.terms, call.x(), call.attr("dim")
    kept = bool(call.attr("keepdim", False))
    if dim is None:
        raise NoMeaningError("the largest of all elements")
    axis = t.axis(x, int(dim))
    found = t.rows("argmax", x, axis, 1, dtype="int64", finite=True)
    return (t.reshape(found, [n for at, n in enumerate(found.shape) if kept or at != axis]),)


def _cumsum(call: Call) -> Sequence[Term]:
    call.only(1)
    x = call.x()
    if not x.is_float or call.attr("dtype") not in (None, x.dtype):
        raise NoMeaningError(f"cumsum of {x.dtype}")
    return (spell.cumulative_sum(call.terms, x, int(call.needs("dim"))),)


def _norm(t: Any, x: Term, axes: Sequence[int], *, kept: bool) -> Term:  # noqa: ANN401
    return spell.sqrt(t, spell.total(t, t.mul(x, x), axes, kept=kept))


def _vector_norm(call: Call) -> Sequence[Term]:
    if call.attr("ord", 2) != 2:
        raise NoMeaningError("a norm of another order")
    return _reduced(_norm)(call)


LAYERS: dict[str, Meaning] = {
    "gelu.default": _gelu,
    "linear.default": _linear,
    "addmm.default": _addmm,
    "softmax.int": _softmax(spell.softmax),
    "_softmax.default": _softmax(spell.softmax),
    "log_softmax.int": _softmax(spell.log_softmax),
    "_log_softmax.default": _softmax(spell.log_softmax),
    "layer_norm.default": _layer_norm,
    "native_layer_norm.default": _layer_norm,
    "rms_norm.default": _rms_norm,
    "batch_norm.default": _batch_norm,
    "_native_batch_norm_legit_no_training.default": _batch_norm,
    "group_norm.default": _group_norm,
    "instance_norm.default": _instance_norm,
    "scaled_dot_product_attention.default": _attention,
    "sum.dim_IntList": _reduced(spell.total),
    "sum.default": _reduced(spell.total),
    "mean.dim": _reduced(spell.mean),
    "mean.default": _reduced(spell.mean),
    "amax.default": _reduced(spell.largest),
    "amin.default": _reduced(spell.smallest),
    "var.correction": _variance,
    "var.dim": _variance,
    "linalg_vector_norm.default": _vector_norm,
    "argmax.default": _argmax,
    "cumsum.default": _cumsum,
}
"""Names without ``aten.``."""
