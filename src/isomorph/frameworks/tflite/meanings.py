"""What TFLite's float operators mean, for proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.frameworks.tflite.meanings_activations import fused
from isomorph.frameworks.tflite.meanings_control import CONTROL, IN_BODIES
from isomorph.frameworks.tflite.meanings_movement import MOVEMENT
from isomorph.frameworks.tflite.meanings_windows import WINDOWS
from isomorph.frameworks.tflite.op_facts import CELLS
from isomorph.proof import shared_meanings as shared
from isomorph.proof import spelling as spell
from isomorph.proof.calls import Call, Meaning, Meanings
from isomorph.proof.shared_meanings import one
from isomorph.proof.term import FLOATS, NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.model import Graph

_UNARY = {"EXP": "exp", "LOG": "log", "SQRT": "sqrt", "TANH": "tanh", "SIN": "sin", "COS": "cos",
          "FLOOR": "floor", "CEIL": "ceil", "ROUND": "round", "SIGN": "sign"}  # fmt: skip


def _binary(name: str) -> Meaning:
    return lambda call: (fused(call, shared.combined(call, name)),)


def _reduced(function: Callable[..., Term]) -> Meaning:
    return lambda call: shared.reduced(call, function, kept=bool(call.needs("keep_dims")))


def _fully_connected(call: Call) -> Sequence[Term]:
    """The tensor as rows, with the weights and a bias; its axes come back if they are kept."""
    call.only(2, 3)
    t, x, weight = call.terms, call.x(0), call.x(1)
    call.refuse("weights_format", "DEFAULT")
    call.refuse("quant_spec", ())
    if weight.rank != 2 or not x.rank:
        raise NoMeaningError("a weight that is no matrix")
    size = weight.shape[1]
    shape: tuple[int, ...] = (-1, weight.shape[0])
    if call.needs("keep_num_dims"):
        if x.shape[-1] != size:
            raise NoMeaningError("a weight that does not fit")
        shape = (*x.shape[:-1], weight.shape[0])
    rows = t.reshape(x, (-1, size))
    y = spell.linear(t, rows, weight, call.optional(2))
    return (t.reshape(fused(call, y), shape),)


def _batch_matmul(call: Call) -> Sequence[Term]:
    call.only(2)
    t, a, b = call.terms, call.x(0), call.x(1)
    a = spell.swapped(t, a) if call.needs("adj_x") else a
    b = spell.swapped(t, b) if call.needs("adj_y") else b
    return (t.matmul(a, b),)


def _softmax(call: Call, x: Term) -> Term:
    t = call.terms
    return spell.softmax(t, t.mul(x, t.number(float(call.needs("beta")), x.dtype)), -1)


def _leaky_relu(call: Call, x: Term) -> Term:
    t = call.terms
    return spell.leaky_relu(t, x, t.number(float(call.needs("alpha")), x.dtype))


def _gelu(call: Call, x: Term) -> Term:
    function = spell.gelu_tanh if call.needs("approximate") else spell.gelu
    return function(call.terms, call.implied, x)


def _prelu(call: Call) -> Sequence[Term]:
    call.only(2)
    if not call.x().is_float:
        raise NoMeaningError(f"PRELU of {call.x().dtype}")
    return (spell.leaky_relu(call.terms, call.x(0), call.x(1)),)


def _hard_swish(call: Call, x: Term) -> Term:
    return call.terms.mul(x, spell.hard_gate(call.terms, call.implied, x))


def _cast(call: Call) -> Sequence[Term]:
    """Into the type that the options state; one that the output does not declare is refused.

    Numbers that do not fit into an integer become its largest one here, and others elsewhere.
    """
    call.only(1)
    dtype, x = str(call.needs("out_data_type")), call.x()
    call.refuse("in_data_type", x.dtype)
    whole = not dtype.startswith("float") and x.dtype != "bool"
    if whole and not spell.fits(x.dtype, dtype):
        raise NoMeaningError(f"CAST of {x.dtype} to {dtype}, which may not hold it")
    return (spell.cast(call.terms, x, dtype),)


def _dequantize(call: Call) -> Sequence[Term]:
    """Halves in a wider type; integers are refused with all that is quantized."""
    call.only(1)
    if call.x().dtype != "float16":
        raise NoMeaningError(f"DEQUANTIZE of {call.x().dtype}")
    return (spell.cast(call.terms, call.x(), "float32"),)


def _arg_max(call: Call) -> Sequence[Term]:
    call.only(2)
    if not call.x().is_float:
        raise NoMeaningError(f"ARG_MAX of {call.x().dtype}")
    return shared.place_of_largest(call, call.ints(1)[0], str(call.needs("output_type")))


def _cumulative_sum(call: Call) -> Sequence[Term]:
    call.only(2)
    if not call.x().is_float:
        raise NoMeaningError(f"CUMSUM of {call.x().dtype}")
    options = {key: bool(call.needs(key)) for key in ("exclusive", "reverse")}
    return (spell.cumulative_sum(call.terms, call.x(), call.ints(1)[0], **options),)


def _power(call: Call) -> Sequence[Term]:
    call.only(2)
    return (spell.power(call.terms, call.x(0), call.x(1)),)


def _select(call: Call) -> Sequence[Term]:
    """The older choice, whose condition may also be one value per row."""
    if call.x(0).shape != call.x(1).shape or call.x(1).shape != call.x(2).shape:
        raise NoMeaningError("a choice between tensors of different shapes")
    return shared.chosen(call)


SPELLED: dict[str, Meaning] = {
    **{name: shared.unary(word) for name, word in _UNARY.items()},
    **{name: _binary(name.lower()) for name in ("ADD", "SUB", "MUL", "DIV")},
    "MAXIMUM": shared.extremum("maximum"),
    "MINIMUM": shared.extremum("minimum"),
    "SQUARED_DIFFERENCE": shared.squared_difference,
    "POW": _power,
    "ABS": one(shared.absolute),
    "NEG": one(lambda call, x: call.terms.neg(x)),
    "SQUARE": one(lambda call, x: call.terms.mul(x, x)),
    "RSQRT": one(shared.reciprocal_root),
    "LOGISTIC": one(lambda call, x: spell.sigmoid(call.terms, x)),
    "RELU": one(lambda call, x: spell.relu(call.terms, x)),
    "RELU6": one(shared.clipped(0.0, 6.0)),
    "RELU_N1_TO_1": one(shared.clipped(-1.0, 1.0)),
    "RELU_0_TO_1": one(shared.clipped(0.0, 1.0)),
    "LEAKY_RELU": one(_leaky_relu),
    "PRELU": _prelu,
    "ELU": one(lambda call, x: spell.elu(call.terms, x, 1.0)),
    "GELU": one(_gelu),
    "HARD_SWISH": one(_hard_swish),
    "SOFTMAX": one(_softmax),
    "LOG_SOFTMAX": one(lambda call, x: spell.log_softmax(call.terms, x, -1)),
    "LESS": shared.compared("less"),
    "GREATER": shared.compared("less", turned=True),
    "LESS_EQUAL": shared.compared("less_equal"),
    "GREATER_EQUAL": shared.compared("less_equal", turned=True),
    "EQUAL": shared.compared("equal"),
    "NOT_EQUAL": shared.compared("equal", negated=True),
    "LOGICAL_AND": shared.logical("and"),
    "LOGICAL_OR": shared.logical("or"),
    "LOGICAL_NOT": shared.logical("not"),
    "SELECT": _select,
    "SELECT_V2": shared.chosen,
    "CAST": _cast,
    "DEQUANTIZE": _dequantize,
    "FULLY_CONNECTED": _fully_connected,
    "BATCH_MATMUL": _batch_matmul,
    "MEAN": _reduced(spell.mean),
    "SUM": _reduced(spell.total),
    "REDUCE_MAX": _reduced(spell.largest),
    "REDUCE_MIN": _reduced(spell.smallest),
    "ARG_MAX": _arg_max,
    "CUMSUM": _cumulative_sum,
    **MOVEMENT,
    **WINDOWS,
    **CONTROL,
}


def _effects(graph: Graph) -> Mapping[str, str]:
    """Nodes that compute on a grid, or read a state that a cell overwrites."""
    grids = {
        each.tensor
        for each in graph.quantization
        if (spec := graph.tensors.get(each.tensor)) is None or spec.dtype not in FLOATS
    }
    states = {
        name
        for node in graph.nodes
        if node.native_op in CELLS
        for name in node.inputs
        if name in graph.constants
    }
    found = {}
    for node in graph.nodes:
        touched = {*node.inputs, *node.outputs}
        if touched & grids:
            found[node.name] = "quantized arithmetic"
        elif touched & states:
            found[node.name] = "a state that may have been overwritten"
    return found


MEANINGS = Meanings(
    spelled=SPELLED,
    folded=frozenset({"SHAPE", "RANK", "FILL", "RANGE", "ZEROS_LIKE", "ONE_HOT", "FLOOR_DIV",
                      "FLOOR_MOD", "REDUCE_PROD", "GATHER_ND", "BROADCAST_ARGS"}),
    shape_only=frozenset({"SHAPE", "RANK", "ZEROS_LIKE"}),
    controlled=frozenset(CONTROL),
    in_bodies=IN_BODIES,
    # Of quantized arithmetic, which is refused.
    ignored=frozenset({"pot_scale_int16", "asymmetric_quantize_inputs", "quantized_bias_type"}),
    effects=_effects,
)  # fmt: skip
"""Of builtin operators; a custom one has another native name, and no meaning."""
