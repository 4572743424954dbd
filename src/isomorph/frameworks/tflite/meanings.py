"""What TFLite's float operators mean, for proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def _softmax(call: Call, x: Term) -> Term:
    t = call.terms
    return spell.softmax(t, t.mul(x, t.number(float(call.needs("beta")), x.dtype)), -1)


def _gelu(call: Call, x: Term) -> Term:
    function = spell.gelu_tanh if call.needs("approximate") else spell.gelu
    return function(call.terms, call.implied, x)


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


SPELLED: dict[str, Meaning] = {
    **{name: shared.unary(word) for name, word in _UNARY.items()},
    **{name: _binary(name.lower()) for name in ("ADD", "SUB", "MUL", "DIV")},
    "MAXIMUM": shared.extremum("maximum"),
    "MINIMUM": shared.extremum("minimum"),
    "SQUARED_DIFFERENCE": shared.squared_difference,
    "POW": shared.power,
    "ABS": one(shared.absolute),
    "NEG": one(lambda call, x: call.terms.neg(x)),
    "SQUARE": one(lambda call, x: call.terms.mul(x, x)),
    "RSQRT": one(shared.reciprocal_root),
    "LOGISTIC": one(lambda call, x: spell.sigmoid(call.terms, x)),
    "RELU": one(lambda call, x: spell.relu(call.terms, x)),
    "RELU6": one(shared.clipped(0.0, 6.0)),
    "RELU_N1_TO_1": one(shared.clipped(-1.0, 1.0)),
    "RELU_0_TO_1": one(shared.clipped(0.0, 1.0)),
    "LEAKY_RELU": one(shared.leaky_relu),
    "PRELU": shared.prelu,
    "ELU": one(lambda call, x: spell.elu(call.terms, x, 1.0)),
    "GELU": one(_gelu),
    "HARD_SWISH": one(shared.hard_swish),
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
    "SELECT": shared.chosen_alike,
    "SELECT_V2": shared.chosen,
    "CAST": _cast,
    "DEQUANTIZE": _dequantize,
    "FULLY_CONNECTED": _fully_connected,
    "BATCH_MATMUL": shared.matmul("adj_x", "adj_y"),
    "MEAN": shared.reduced(spell.mean),
    "SUM": shared.reduced(spell.total),
    "REDUCE_MAX": shared.reduced(spell.largest),
    "REDUCE_MIN": shared.reduced(spell.smallest),
    "ARG_MAX": shared.arg_max,
    "CUMSUM": shared.stated_cumulative_sum,
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
