"""What ATen's operators mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isomorph.frameworks.pytorch.in_place_effects import effects
from isomorph.frameworks.pytorch.meanings_arguments import operands, scalar
from isomorph.frameworks.pytorch.meanings_control import CONTROL
from isomorph.frameworks.pytorch.meanings_layers import LAYERS
from isomorph.frameworks.pytorch.meanings_movement import MOVEMENT
from isomorph.frameworks.pytorch.meanings_recurrent import RECURRENT
from isomorph.frameworks.pytorch.meanings_sizes import ARITHMETIC, SIZES
from isomorph.frameworks.pytorch.meanings_windows import WINDOWS
from isomorph.proof import spelling as spell
from isomorph.proof.calls import Call, Meaning, Meanings
from isomorph.proof.shared_meanings import (
    absolute,
    clipped,
    compared,
    extremum,
    hard_swish,
    identity,
    logical,
    one,
    reciprocal_root,
    unary,
)
from isomorph.proof.term import NoMeaningError, Term

_UNARY = {
    "log": "log", "asin": "asin", "acos": "acos", "acosh": "acosh", "atanh": "atanh",
    "sqrt": "sqrt", "exp": "exp", "erf": "erf", "tanh": "tanh", "sin": "sin", "cos": "cos",
    "tan": "tan", "sinh": "sinh", "cosh": "cosh", "atan": "atan", "asinh": "asinh",
    "floor": "floor", "ceil": "ceil", "round": "round", "sign": "sign",
}  # fmt: skip


def _binary(name: str, *, turned: bool = False, scaled: bool = False) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        t = call.terms
        a, b = operands(call)
        a, b = (b, a) if turned else (a, b)
        if call.attr("rounding_mode") is not None:
            raise NoMeaningError("a quotient that is rounded")
        if not (a.is_float and b.is_float):
            if name == "div" or a.dtype != b.dtype or call.attr("alpha", 1) != 1:
                raise NoMeaningError(f"{name} of {a.dtype} and {b.dtype}")
            commutes = name in ("add", "mul")
            return (t.function(f"int {name}", (a, b), commutes=commutes),)
        if not scaled and call.attr("alpha", 1) != 1:
            raise NoMeaningError("a factor of one operand")
        if scaled and call.attr("alpha", 1) != 1:
            which = a if turned else b
            which = t.mul(which, scalar(call, "alpha", which.dtype))
            a, b = (which, b) if turned else (a, which)
        return (getattr(t, name)(a, b),)

    return meaning


def _compared(name: str, *, turned: bool = False, negated: bool = False) -> Meaning:
    return compared(name, turned=turned, negated=negated, operands=operands)


def _dropout(call: Call) -> Sequence[Term]:
    call.only(1)
    if call.attr("train", True) is not False:
        raise NoMeaningError("dropout in training")
    call.needs("p")
    return (call.x(),)


def _clamp(call: Call) -> Sequence[Term]:
    call.only(1)
    t, x = call.terms, call.x()
    names = ("min", "max") if call.node.native_op.find("hardtanh") < 0 else ("min_val", "max_val")
    bounds = [None if call.attr(n) is None else scalar(call, n, x.dtype) for n in names]
    if bounds == [None, None]:
        raise NoMeaningError("no bounds")
    return (spell.clip(t, x, *bounds),)


def _power(call: Call) -> Sequence[Term]:
    a, b = operands(call, "exponent")
    return (spell.power(call.terms, a, b),)


def _leaky_relu(call: Call, x: Term) -> Term:
    return spell.leaky_relu(call.terms, x, scalar(call, "negative_slope", x.dtype))


def _elu(call: Call, x: Term) -> Term:
    if call.attr("scale", 1) != 1 or call.attr("input_scale", 1) != 1:
        raise NoMeaningError("a scaled ELU")
    return spell.elu(call.terms, x, float(call.needs("alpha")))


def _prelu(call: Call) -> Sequence[Term]:
    call.only(2)
    t, x, slope = call.terms, call.x(0), call.x(1)
    if math.prod(slope.shape) > 1:
        slope = spell.along_channels(t, slope, x.rank)
    else:
        slope = t.reshape(slope, ())
    return (spell.leaky_relu(t, x, slope),)


def _hard(call: Call, x: Term) -> Term:
    return spell.hard_gate(call.terms, call.implied, x)


def _softplus(call: Call, x: Term) -> Term:
    if call.attr("beta", 1) != 1 or call.attr("threshold", 20) != 20:
        raise NoMeaningError("a softplus with other parameters")
    # Above the threshold it is the line, which differs from the logarithm by 2e-9.
    return call.terms.function("softplus", (x,), attrs=(20.0,))


def _cast(call: Call) -> Sequence[Term]:
    call.only(1)
    dtype = call.attr("dtype")
    if dtype is None:
        return (call.x(),)
    if not isinstance(dtype, str):
        raise NoMeaningError(f"a cast to {dtype!r}")
    return (spell.cast(call.terms, call.x(), dtype),)


def _where(call: Call) -> Sequence[Term]:
    """A choice between tensors; a number takes the type of the tensor beside it, or float32."""
    tensors = [call.x(place) for place in range(1, call.count)]
    numbers = [name for name in ("self", "other") if name in call.node.attributes]
    if len(tensors) + len(numbers) != 2 or (numbers and len(tensors) == 1 and not _float(tensors)):
        raise NoMeaningError("a choice between numbers of different types")
    if len(numbers) == 2 and not all(isinstance(call.attr(name), float) for name in numbers):
        raise NoMeaningError("a choice between whole numbers")
    dtype = tensors[0].dtype if tensors else "float32"
    stated = {name: scalar(call, name, dtype) for name in numbers}
    rest = iter(tensors)
    chosen = [stated[name] if name in stated else next(rest) for name in ("self", "other")]
    return (spell.where(call.terms, call.x(0), chosen[0], chosen[1]),)


def _float(tensors: Sequence[Term]) -> bool:
    return all(each.is_float for each in tensors)


def _masked_fill(call: Call) -> Sequence[Term]:
    t, x, mask = call.terms, call.x(0), call.x(1)
    fill = scalar(call, "value", x.dtype) if call.count == 2 else call.x(2)
    return (spell.where(t, mask, fill, x),)


_PLAIN: dict[str, Meaning] = {
    **{f"{name}.default": unary(word) for name, word in _UNARY.items()},
    **{f"add.{kind}": _binary("add", scaled=True) for kind in ("Tensor", "Scalar")},
    **{f"sub.{kind}": _binary("sub", scaled=True) for kind in ("Tensor", "Scalar")},
    **{f"rsub.{k}": _binary("sub", turned=True, scaled=False) for k in ("Tensor", "Scalar")},
    **{f"mul.{kind}": _binary("mul") for kind in ("Tensor", "Scalar")},
    **{f"div.{kind}": _binary("div") for kind in ("Tensor", "Scalar")},
    **{f"{n}.{k}": _compared("less") for n in ("lt", "less") for k in ("Tensor", "Scalar")},
    **{f"gt.{kind}": _compared("less", turned=True) for kind in ("Tensor", "Scalar")},
    **{f"le.{kind}": _compared("less_equal") for kind in ("Tensor", "Scalar")},
    **{f"ge.{kind}": _compared("less_equal", turned=True) for kind in ("Tensor", "Scalar")},
    **{f"ne.{kind}": _compared("equal", negated=True) for kind in ("Tensor", "Scalar")},
    **{f"eq.{kind}": _compared("equal") for kind in ("Tensor", "Scalar")},
    "logical_not.default": logical("not"),
    "logical_and.default": logical("and"),
    "logical_or.default": logical("or"),
    "bitwise_not.default": logical("not"),
    "bitwise_and.Tensor": logical("and"),
    "bitwise_or.Tensor": logical("or"),
    "__and__.Tensor": logical("and"),
    "__or__.Tensor": logical("or"),
    "maximum.default": extremum("maximum"),
    "minimum.default": extremum("minimum"),
    "max.other": extremum("maximum"),
    "min.other": extremum("minimum"),
    "neg.default": one(lambda call, x: call.terms.neg(x)),
    "abs.default": one(absolute),
    "reciprocal.default": one(lambda call, x: call.terms.inverse(x)),
    "rsqrt.default": one(reciprocal_root),
    "square.default": one(lambda call, x: call.terms.mul(x, x)),
    "relu.default": one(lambda call, x: spell.relu(call.terms, x)),
    "relu6.default": one(clipped(0.0, 6.0)),
    "sigmoid.default": one(lambda call, x: spell.sigmoid(call.terms, x)),
    "silu.default": one(lambda call, x: spell.silu(call.terms, x)),
    "hardsigmoid.default": one(_hard),
    "hardswish.default": one(hard_swish),
    "leaky_relu.default": one(_leaky_relu),
    "elu.default": one(_elu),
    "softplus.default": one(_softplus),
    "prelu.default": _prelu,
    "pow.Tensor_Scalar": _power,
    "pow.Tensor_Tensor": _power,
    "clamp.default": _clamp,
    "hardtanh.default": _clamp,
    "clamp_min.default": _clamp,
    "clamp_max.default": _clamp,
    "where.self": _where,
    "where.Scalar": _where,
    "where.ScalarSelf": _where,
    "where.ScalarOther": _where,
    "masked_fill.Scalar": _masked_fill,
    "masked_fill.Tensor": _masked_fill,
    "to.dtype": _cast,
    "to.dtype_layout": _cast,
    "to.device": _cast,
    "_to_copy.default": _cast,
    "dropout.default": _dropout,
    "feature_dropout.default": _dropout,
    "matmul.default": lambda call: (spell.matmul(call.terms, call.x(0), call.x(1)),),
    "mm.default": lambda call: (call.terms.matmul(call.x(0), call.x(1)),),
    "bmm.default": lambda call: (call.terms.matmul(call.x(0), call.x(1)),),
    **{f"{name}.default": identity for name in ("alias", "detach", "clone", "contiguous",
                                                 "lift_fresh_copy")},
    **LAYERS,
    **MOVEMENT,
    **WINDOWS,
    **RECURRENT,
}  # fmt: skip

_IN_PLACE = ("relu", "relu6", "silu", "sigmoid", "hardswish", "hardsigmoid", "leaky_relu", "elu",
             "hardtanh", "tanh", "clamp", "clamp_min", "clamp_max", "dropout", "exp", "sqrt",
             "add", "sub", "mul", "div", "neg", "masked_fill", "detach")  # fmt: skip
"""Operators whose in-place form has a meaning where nothing else sees the overwritten tensor."""


def _spelled() -> dict[str, Meaning]:
    found = {f"aten.{name}": meaning for name, meaning in _PLAIN.items()} | CONTROL
    for name, meaning in _PLAIN.items():
        word, _, overload = name.partition(".")
        if word in _IN_PLACE:
            found[f"aten.{word}_.{overload}"] = meaning
    return found


MEANINGS = Meanings(
    spelled=_spelled(),
    folded=frozenset(
        f"aten.{name}"
        for name in ("arange.default", "arange.start", "arange.start_step", "full.default",
                     "zeros.default", "ones.default", "scalar_tensor.default", "full_like.default",
                     "ones_like.default", "zeros_like.default", "tril.default", "triu.default",
                     "eye.default", "new_zeros.default", "new_ones.default", "new_full.default",
                     "linspace.default", "floor_divide.default", "remainder.Scalar",
                     "lift_fresh_copy.default", "repeat_interleave.self_int", "gather.default",
                     "index.Tensor", "diff.default", "sym_size.int")
    )
    | frozenset(ARITHMETIC),
    never_folded=frozenset(
        f"aten.{name}"
        for name in ("dropout.default", "dropout_.default", "feature_dropout.default",
                     "batch_norm.default", "scaled_dot_product_attention.default", "lstm.input",
                     "gru.input", "rnn_tanh.input", "rnn_relu.input")
    ),
    shape_only=frozenset({"aten.full_like.default", "aten.ones_like.default",
                          "aten.zeros_like.default", "aten.new_zeros.default",
                          "aten.new_ones.default", "aten.new_full.default",
                          "aten.sym_size.int"}),
    in_bodies=SIZES,
    # Of training, of sparse gradients, of memory, and of how the same numbers are computed.
    ignored=frozenset({"momentum", "cudnn_enabled", "cudnn_enable", "benchmark", "deterministic",
                       "padding_idx", "scale_grad_by_freq", "sparse", "memory_format", "layout",
                       "device", "pin_memory", "non_blocking", "copy", "implicit", "inplace",
                       "allow_tf32"}),
    implied=frozenset({("aten.scaled_dot_product_attention.default", "scale")}),
    controlled=frozenset(CONTROL),
    effects=effects,
)  # fmt: skip
