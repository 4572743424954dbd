"""What TensorFlow's graph operators mean, for proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.frameworks.tensorflow.meanings_control import CONTROL, IN_BODIES, LISTS
from isomorph.frameworks.tensorflow.meanings_movement import MOVEMENT
from isomorph.frameworks.tensorflow.meanings_windows import WINDOWS
from isomorph.proof import shared_meanings as shared
from isomorph.proof import spelling as spell
from isomorph.proof.calls import Call, Meaning, Meanings
from isomorph.proof.shared_meanings import one
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.model import Graph

_UNARY = {"Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Tanh": "tanh", "Sin": "sin", "Cos": "cos",
          "Tan": "tan", "Sinh": "sinh", "Cosh": "cosh", "Atan": "atan", "Asinh": "asinh",
          "Asin": "asin", "Acos": "acos", "Acosh": "acosh", "Atanh": "atanh", "Floor": "floor",
          "Ceil": "ceil", "Round": "round", "Rint": "round", "Sign": "sign",
          "Erf": "erf", "Softplus": "softplus"}  # fmt: skip


def _softmax(function: Callable[..., Term]) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        call.derived("axis")
        return (function(call.terms, call.x(), -1),)

    return meaning


def _relu6(call: Call) -> Sequence[Term]:
    call.derived("min", "max")
    return one(shared.clipped(0.0, 6.0))(call)


def _clip(call: Call) -> Sequence[Term]:
    """First not above the upper bound, then not below the lower one."""
    call.only(3)
    call.derived("min", "max")
    t, x, low, high = call.terms, call.x(0), call.x(1), call.x(2)
    if not x.is_float:
        raise NoMeaningError(f"ClipByValue of {x.dtype}")
    if not (low.op == high.op == "constant" and np.all(low.value() <= high.value())):
        raise NoMeaningError("bounds that may be in the wrong order")
    return (spell.clip(t, x, low, high),)


def _square(call: Call) -> Sequence[Term]:
    call.derived("exponent")
    return one(lambda inner, x: inner.terms.mul(x, x))(call)


def _erfc(call: Call, x: Term) -> Term:
    """One less the error function."""
    t = call.terms
    return t.sub(t.number(1.0, x.dtype), spell.unary(t, "erf", x))


def _cast(call: Call) -> Sequence[Term]:
    call.only(1)
    call.derived("to")
    call.refuse("Truncate", False)
    call.refuse("SrcT", call.x().dtype)
    return (spell.cast(call.terms, call.x(), str(call.needs("DstT"))),)


SPELLED: dict[str, Meaning] = {
    **{name: shared.unary(word) for name, word in _UNARY.items()},
    "Add": shared.binary("add"),
    "AddV2": shared.binary("add"),
    "Sub": shared.binary("sub"),
    "Mul": shared.binary("mul"),
    "RealDiv": shared.binary("div"),
    "Maximum": shared.extremum("maximum"),
    "Minimum": shared.extremum("minimum"),
    "SquaredDifference": shared.squared_difference,
    "Pow": shared.power,
    "Abs": one(shared.absolute),
    "Neg": one(lambda call, x: call.terms.neg(x)),
    "Square": _square,
    "Rsqrt": one(shared.reciprocal_root),
    "Reciprocal": one(lambda call, x: call.terms.inverse(x)),
    "Erfc": one(_erfc),
    "Sigmoid": one(lambda call, x: spell.sigmoid(call.terms, x)),
    "Relu": one(lambda call, x: spell.relu(call.terms, x)),
    "Relu6": _relu6,
    "LeakyRelu": one(shared.leaky_relu),
    "Elu": one(lambda call, x: spell.elu(call.terms, x, 1.0)),
    "ClipByValue": _clip,
    "Softmax": _softmax(spell.softmax),
    "LogSoftmax": _softmax(spell.log_softmax),
    "Less": shared.compared("less"),
    "Greater": shared.compared("less", turned=True),
    "LessEqual": shared.compared("less_equal"),
    "GreaterEqual": shared.compared("less_equal", turned=True),
    "Equal": shared.compared("equal"),
    "NotEqual": shared.compared("equal", negated=True),
    "LogicalAnd": shared.logical("and"),
    "LogicalOr": shared.logical("or"),
    "LogicalNot": shared.logical("not"),
    "Select": shared.chosen_alike,
    "SelectV2": shared.chosen,
    "Cast": _cast,
    "MatMul": shared.matmul("transpose_a", "transpose_b"),
    "BatchMatMul": shared.matmul("adj_x", "adj_y"),
    "BatchMatMulV2": shared.matmul("adj_x", "adj_y"),
    "Einsum": shared.einsum,
    "Mean": shared.reduced(spell.mean),
    "Sum": shared.reduced(spell.total),
    "Max": shared.reduced(spell.largest),
    "Min": shared.reduced(spell.smallest),
    "ArgMax": shared.arg_max,
    "Cumsum": shared.stated_cumulative_sum,
    **MOVEMENT,
    **WINDOWS,
    **CONTROL,
    **LISTS,
}

_STATE = ("Assign", "Resource", "VarHandle", "ReadVariable", "Variable")


def _effects(graph: Graph) -> Mapping[str, str]:
    """Every node, where one of them reads or writes a variable: the next call may differ."""
    if not any(node.native_op.startswith(_STATE) for node in graph.nodes):
        return {}
    return {node.name: "the model keeps a state between calls" for node in graph.nodes}


MEANINGS = Meanings(
    spelled=SPELLED,
    folded=frozenset({"Shape", "Rank", "Size", "Fill", "Range", "ZerosLike", "OnesLike", "Prod",
                      "FloorDiv", "FloorMod", "GatherNd", "BroadcastArgs", "Const", "OneHot",
                      "MatrixBandPart", "Bitcast"}),
    # A normalization of constants is spelled: a conversion folds it in an order of its own.
    never_folded=frozenset({"Rsqrt", *LISTS}),
    controlled=frozenset(CONTROL),
    in_bodies=IN_BODIES,
    shape_only=frozenset({"Shape", "Rank", "Size", "ZerosLike", "OnesLike"}),
    # Types and counts, which the terms have themselves, how gradients are made, and how the same
    # numbers are computed.
    ignored=frozenset({"T", "Tidx", "Tperm", "Tshape", "Tdim", "Tpaddings", "Tmultiples", "Tlen",
                       "Tparams", "Tindices", "Taxis", "Tcrops", "Tblock_shape", "Index", "N", "U",
                       "use_cudnn_on_gpu", "grad_a", "grad_b", "grad_x", "grad_y",
                       "incompatible_shape_error", "bad_indices_policy", "message"}),
    effects=_effects,
)  # fmt: skip
