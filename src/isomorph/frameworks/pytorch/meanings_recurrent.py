"""What ATen's recurrent layers and cells mean, for proofs."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.proof.calls import Call, Meaning
from isomorph.proof.spelled_movement import stacked, unstacked
from isomorph.proof.spelled_recurrence import (
    ACTIVATIONS,
    Cell,
    Kind,
    gru,
    layer,
    lstm,
    one_step,
    plain,
)
from isomorph.proof.term import NoMeaningError, Term

_SIGMOID, _TANH = ACTIVATIONS["Sigmoid"], ACTIVATIONS["Tanh"]

# ATen has the gates in the order of ``proof.spelled_recurrence``.
_KINDS = {
    "lstm": lstm(_SIGMOID, _TANH, _TANH),
    "gru": gru(_SIGMOID, _TANH, reset_after=True),
    "rnn_tanh": plain(_TANH),
    "rnn_relu": plain(ACTIVATIONS["Relu"]),
}


def _layers(kind: Kind) -> Meaning:
    """A stack of layers: the inputs are the tensor, the states, and the weights layer by layer."""

    def meaning(call: Call) -> Sequence[Term]:
        if call.needs("train") is not False and call.attr("dropout", 0.0) != 0:
            raise NoMeaningError("dropout in training")
        call.derived("dropout")
        t, x = call.terms, call.x()
        layers, both = int(call.needs("num_layers")), bool(call.needs("bidirectional"))
        biases, directions = bool(call.needs("has_biases")), 2 if both else 1
        each = 4 if biases else 2
        call.only(1 + kind.states + layers * directions * each)
        if x.rank != 3:
            raise NoMeaningError("a sequence without a batch")
        if call.needs("batch_first"):
            x = t.transpose(x, (1, 0, 2))
        starts = _starts(call, kind, layers * directions)
        ends = []
        for at in range(layers):
            outputs = []
            for direction in range(directions):
                place = at * directions + direction
                weights = _cell(call, 1 + kind.states + place * each, biases=biases)
                states = [each_start[place] for each_start in starts]
                output, last = layer(t, kind, weights, x, states, reverse=direction == 1)
                outputs.append(output)
                ends.append(last)
            x = t.concat(outputs, 2)
        if call.needs("batch_first"):
            x = t.transpose(x, (1, 0, 2))
        return (x, *(stacked(t, states, 0) for states in zip(*ends, strict=True)))

    return meaning


def _starts(call: Call, kind: Kind, count: int) -> list[list[Term]]:
    found = []
    for place in range(kind.states):
        given = call.x(1 + place)
        if given.rank != 3 or given.shape[0] != count:
            raise NoMeaningError("initial states that do not fit")
        found.append(unstacked(call.terms, given, 0))
    return found


def _cell(call: Call, first: int, *, biases: bool) -> Cell:
    return Cell(
        of_input=call.x(first),
        of_state=call.x(first + 1),
        input_bias=call.x(first + 2) if biases else None,
        state_bias=call.x(first + 3) if biases else None,
    )


def _cell_alone(kind: Kind) -> Meaning:
    """One step: the inputs are the tensor, the states, two weights, and two biases or none."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(3 + kind.states, 5 + kind.states)
        weights = _cell(call, 1 + kind.states, biases=call.count == 5 + kind.states)
        states = [call.x(1 + place) for place in range(kind.states)]
        if call.x().rank != 2:
            raise NoMeaningError("a step without a batch")
        return one_step(call.terms, kind, weights, call.x(), states)

    return meaning


RECURRENT: dict[str, Meaning] = {
    **{f"{name}.input": _layers(kind) for name, kind in _KINDS.items()},
    "lstm_cell.default": _cell_alone(_KINDS["lstm"]),
    "gru_cell.default": _cell_alone(_KINDS["gru"]),
    "rnn_tanh_cell.default": _cell_alone(_KINDS["rnn_tanh"]),
    "rnn_relu_cell.default": _cell_alone(_KINDS["rnn_relu"]),
}
