"""What ONNX's operators mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frameworks.onnx.meanings_control import CONTROL, IN_BODIES
from isomorph.frameworks.onnx.meanings_fused import fused_meanings, rms_norm
from isomorph.frameworks.onnx.meanings_movement import MOVEMENT
from isomorph.frameworks.onnx.meanings_recurrent import RECURRENT
from isomorph.frameworks.onnx.meanings_windows import WINDOWS
from isomorph.proof import spelling as spell
from isomorph.proof.calls import Call, Meaning, Meanings
from isomorph.proof.shared_meanings import (
    absolute,
    binary,
    chosen,
    combined,
    compared,
    cumulative_sum,
    einsum,
    hard_swish,
    identity,
    logical,
    one,
    place_of_largest,
    prelu,
    unary,
)
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARTIAL_NAMES = {"Log": "log", "Asin": "asin", "Acos": "acos", "Acosh": "acosh",
                  "Atanh": "atanh", "Sqrt": "sqrt"}  # fmt: skip
_TOTAL_NAMES = {
    "Exp": "exp", "Erf": "erf", "Tanh": "tanh", "Sin": "sin", "Cos": "cos", "Tan": "tan",
    "Sinh": "sinh", "Cosh": "cosh", "Atan": "atan", "Asinh": "asinh", "Floor": "floor",
    "Ceil": "ceil", "Round": "round", "Sign": "sign", "Softplus": "softplus",
}  # fmt: skip


_LARGEST = float(np.finfo(np.float32).max)


def _quotient(call: Call) -> Sequence[Term]:
    """Of floats a quotient; of whole numbers an unknown function, as its rounding is ONNX's own."""
    a, b = call.x(0), call.x(1)
    if a.is_float or b.is_float or a.dtype != b.dtype:
        return (combined(call, "div"),)
    call.only(2)
    return (call.terms.function("int div", (a, b)),)


def _number(call: Call, name: str, default: float, dtype: str) -> Term:
    return call.terms.number(float(call.attr(name, default)), dtype)


def _many(name: str) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        found = call.x(0)
        for place in range(1, call.count):
            found = getattr(call.terms, name)(found, call.x(place))
        return (found,)

    return meaning


def _axes(call: Call, x: Term, *, place: int = 1) -> tuple[int, ...]:
    """The axes of a reduction: an input of newer operator sets, an attribute of older ones."""
    stated, nothing = call.attr("axes"), call.attr("noop_with_empty_axes", 0)
    if call.count > place and call.optional(place) is not None:
        stated = call.ints(place)
    if not stated:
        return () if nothing else tuple(range(x.rank))
    return tuple(int(axis) for axis in stated)


def _reduced(function: Callable[..., Term]) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1, 2)
        x = call.x()
        kept = bool(call.attr("keepdims", 1))
        axes = _axes(call, x)
        if not axes:
            raise NoMeaningError("a reduction over no axes")
        return (function(call.terms, x, axes, kept=kept),)

    return meaning


def _softmax(function: Callable[..., Term]) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        t, x = call.terms, call.x()
        if call.opset.get("", 1) >= 13:
            return (function(t, x, int(call.attr("axis", -1))),)
        axis = int(call.attr("axis", 1)) % max(x.rank, 1)
        flat = t.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return (t.reshape(function(t, flat, 1), x.shape),)

    return meaning


def _cast(call: Call) -> Sequence[Term]:
    call.only(1)
    spec = call.needs("to")
    names: Mapping[Any, str] = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16",
        6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64", 12: "uint32",
        13: "uint64", 16: "bfloat16"}  # fmt: skip
    dtype = names.get(spec) if isinstance(spec, int) else spec
    if not isinstance(dtype, str) or dtype not in names.values():
        raise NoMeaningError(f"a cast to {spec!r}")
    return (spell.cast(call.terms, call.x(), dtype),)


def _cast_like(call: Call) -> Sequence[Term]:
    """A cast to the type of the second input, whose values are not read."""
    call.only(2)
    return (spell.cast(call.terms, call.x(0), call.x(1).dtype),)


def _dropout(call: Call) -> Sequence[Term]:
    """The identity, unless training is asked for."""
    if call.count > 2 and call.optional(2) is not None and bool(np.any(call.value(2))):
        raise NoMeaningError("dropout in training")
    if call.opset.get("", 1) < 7:
        raise NoMeaningError("dropout of an operator set that may train")
    if len([name for name in call.node.outputs if name]) > 1:
        raise NoMeaningError("the mask of dropout")
    return (call.x(),)


def _clip(call: Call) -> Sequence[Term]:
    t, x = call.terms, call.x()
    if call.opset.get("", 1) < 11:
        # The defaults of these operator sets are the largest float32: no bounds.
        low, high = call.attr("min", -_LARGEST), call.attr("max", _LARGEST)
        return (
            spell.clip(
                t,
                x,
                None if low <= -_LARGEST else t.number(low, x.dtype),
                None if high >= _LARGEST else t.number(high, x.dtype),
            ),
        )
    call.only(1, 2, 3)
    return (spell.clip(t, x, call.optional(1), call.optional(2)),)


def _gemm(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    t, a, b = call.terms, call.x(0), call.x(1)
    a = spell.swapped(t, a) if call.attr("transA", 0) else a
    b = spell.swapped(t, b) if call.attr("transB", 0) else b
    y = t.mul(t.matmul(a, b), _number(call, "alpha", 1.0, a.dtype))
    c, factor = call.optional(2), _number(call, "beta", 1.0, a.dtype)
    return (y if c is None else t.add(y, t.mul(c, factor)),)


def _layer_norm(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    if len([name for name in call.node.outputs if name]) > 1:
        raise NoMeaningError("the statistics of a normalization")
    t, x = call.terms, call.x()
    if int(call.attr("stash_type", 1)) != 1:
        raise NoMeaningError("another type of statistics")
    axes = tuple(range(t.axis(x, int(call.attr("axis", -1))), x.rank))
    y = spell.normalized(t, x, axes, float(call.attr("epsilon", 1e-5)))
    return (spell.scaled_and_shifted(t, y, call.x(1), call.optional(2)),)


def _batch_norm(call: Call) -> Sequence[Term]:
    call.only(5)
    if call.attr("training_mode", 0) or call.attr("spatial", 1) != 1:
        raise NoMeaningError("normalization in training")
    if call.attr("is_test", 1) != 1 or len([name for name in call.node.outputs if name]) > 1:
        raise NoMeaningError("normalization in training")
    x, scale, shift, average, variance = call.all()
    epsilon = float(call.attr("epsilon", 1e-5))
    return (
        spell.batch_norm(
            call.terms, x, scale=scale, shift=shift, average=average, variance=variance,
            epsilon=epsilon,
        ),
    )  # fmt: skip


def _instance_norm(call: Call) -> Sequence[Term]:
    call.only(3)
    x = call.x()
    epsilon = float(call.attr("epsilon", 1e-5))
    return (
        spell.group_norm(
            call.terms, x, x.shape[1], scale=call.x(1), shift=call.x(2), epsilon=epsilon
        ),
    )


def _group_norm(call: Call) -> Sequence[Term]:
    call.only(3)
    call.refuse("stash_type", 1)
    if call.opset.get("", 1) < 21:
        raise NoMeaningError("group normalization of an operator set that scales groups")
    groups, epsilon = int(call.needs("num_groups")), float(call.attr("epsilon", 1e-5))
    return (
        spell.group_norm(
            call.terms, call.x(), groups, scale=call.x(1), shift=call.x(2), epsilon=epsilon
        ),
    )


def _gelu(call: Call) -> Sequence[Term]:
    call.only(1)
    exact = call.attr("approximate", "none") == "none"
    function = spell.gelu if exact else spell.gelu_tanh
    return (function(call.terms, call.implied, call.x()),)


def _power(call: Call) -> Sequence[Term]:
    call.only(2)
    t, x, exponent = call.terms, call.x(0), call.x(1)
    if x.is_float and exponent.op == "constant" and exponent.dtype != x.dtype:
        exponent = t.constant(np.asarray(exponent.value(), np.float64), x.dtype)
    return (spell.power(t, x, exponent),)


def _prelu(call: Call) -> Sequence[Term]:
    """Older operator sets have a slope for each channel, wherever its axis is."""
    if call.opset.get("", 1) < 7 and math.prod(call.x(1).shape) != 1:
        raise NoMeaningError("a slope for each channel of an older operator set")
    return prelu(call)


def _hard_sigmoid(call: Call, x: Term) -> Term:
    slope, offset = _number(call, "alpha", 0.2, x.dtype), _number(call, "beta", 0.5, x.dtype)
    return spell.hard_sigmoid(call.terms, x, slope, offset)


def _is_nan(call: Call) -> Sequence[Term]:
    """Nowhere, of a tensor that is finite for all finite inputs."""
    call.only(1)
    t, x = call.terms, call.x()
    if x.finite:
        return (t.filled(t.constant(np.zeros((), bool), "bool"), x.shape),)
    return (t.function("isnan", (x,), dtype="bool"),)


def _cumulative_sum(call: Call) -> Sequence[Term]:
    options = {key: bool(call.attr(key, 0)) for key in ("exclusive", "reverse")}
    return cumulative_sum(call, **options)


def _argmax(call: Call) -> Sequence[Term]:
    call.only(1)
    if call.attr("select_last_index", 0):
        raise NoMeaningError("the last of equal elements")
    axis, kept = int(call.attr("axis", 0)), bool(call.attr("keepdims", 1))
    return place_of_largest(call, axis, kept=kept)


def _reduce_l2(t: Any, x: Term, axes: Sequence[int], *, kept: bool) -> Term:  # noqa: ANN401
    return spell.sqrt(t, spell.total(t, t.mul(x, x), axes, kept=kept))


def _sum_square(t: Any, x: Term, axes: Sequence[int], *, kept: bool) -> Term:  # noqa: ANN401
    return spell.total(t, t.mul(x, x), axes, kept=kept)


SPELLED: dict[str, Meaning] = {
    **{name: unary(word) for name, word in {**_PARTIAL_NAMES, **_TOTAL_NAMES}.items()},
    **{name: binary(word) for name, word in (("Add", "add"), ("Sub", "sub"), ("Mul", "mul"))},
    "Div": _quotient,
    "Neg": one(lambda call, x: call.terms.neg(x)),
    "Abs": one(absolute),
    "Reciprocal": one(lambda call, x: call.terms.inverse(x)),
    "Relu": one(lambda call, x: spell.relu(call.terms, x)),
    "Sigmoid": one(lambda call, x: spell.sigmoid(call.terms, x)),
    "Swish": one(
        lambda call, x: call.terms.mul(
            x, spell.sigmoid(call.terms, call.terms.mul(x, _number(call, "alpha", 1.0, x.dtype)))
        )
    ),
    "HardSigmoid": one(_hard_sigmoid),
    "HardSwish": one(hard_swish),
    "LeakyRelu": one(
        lambda call, x: spell.leaky_relu(call.terms, x, _number(call, "alpha", 0.01, x.dtype))
    ),
    "Elu": one(lambda call, x: spell.elu(call.terms, x, float(call.attr("alpha", 1.0)))),
    "PRelu": _prelu,
    "Gelu": _gelu,
    "Pow": _power,
    "Max": _many("maximum"),
    "Min": _many("minimum"),
    "Sum": _many("add"),
    "Clip": _clip,
    "Less": compared("less"),
    "Greater": compared("less", turned=True),
    "LessOrEqual": compared("less_equal"),
    "GreaterOrEqual": compared("less_equal", turned=True),
    "Equal": compared("equal"),
    "Not": logical("not"),
    "And": logical("and"),
    "Or": logical("or"),
    "Xor": logical("xor"),
    "Where": chosen,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Identity": identity,
    "Dropout": _dropout,
    "MatMul": lambda call: (spell.matmul(call.terms, call.x(0), call.x(1)),),
    "Gemm": _gemm,
    "Softmax": _softmax(spell.softmax),
    "LogSoftmax": _softmax(spell.log_softmax),
    "LayerNormalization": _layer_norm,
    "RMSNormalization": rms_norm,
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "ReduceSum": _reduced(spell.total),
    "ReduceMean": _reduced(spell.mean),
    "ReduceMax": _reduced(spell.largest),
    "ReduceMin": _reduced(spell.smallest),
    "ReduceL2": _reduced(_reduce_l2),
    "ReduceSumSquare": _reduced(_sum_square),
    "CumSum": _cumulative_sum,
    "ArgMax": _argmax,
    "Einsum": einsum,
    "IsNaN": _is_nan,
    **MOVEMENT,
    **WINDOWS,
    **RECURRENT,
    **CONTROL,
    **fused_meanings(_gemm),
}

MEANINGS = Meanings(
    spelled=SPELLED,
    folded=frozenset({"Constant", "ConstantOfShape", "Range", "Shape", "Size", "EyeLike", "Mod",
                      "NonZero", "ReduceProd", "GatherND", "GatherElements", "ScatterND",
                      "ScatterElements", "Compress", "OneHot", "CastLike"}),
    never_folded=frozenset({"Dropout", "BatchNormalization"}),
    shape_only=frozenset({"Shape", "Size"}),
    controlled=frozenset(CONTROL),
    capture=True,
    in_bodies=IN_BODIES,
    # Of training, of the random numbers of training, and of types of 8 bits, which are refused.
    ignored=frozenset({"momentum", "seed", "ratio", "saturate", "round_mode"}),
)  # fmt: skip
"""Of the standard domain, and what ONNX Runtime fuses; other domains have no meaning."""
