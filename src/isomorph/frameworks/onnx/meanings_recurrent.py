"""What ONNX's recurrent layers mean, for proofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from isomorph.proof.calls import Call, Meaning
from isomorph.proof.spelled_movement import stacked, unstacked
from isomorph.proof.spelled_recurrence import (
    ACTIVATIONS,
    Activation,
    Cell,
    Kind,
    gru,
    layer,
    lstm,
    ordered,
    plain,
)
from isomorph.proof.term import NoMeaningError, Term

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

_SEQUENCE_LENGTHS, _INITIAL_HIDDEN, _PEEPHOLES = 4, 5, 7
"""Places of inputs."""


def _lstm_kind(_: Call, activations: Sequence[Activation]) -> Kind:
    return lstm(*activations)


def _gru_kind(call: Call, activations: Sequence[Activation]) -> Kind:
    after = call.attr("linear_before_reset", 0)
    if after not in (0, 1):
        raise NoMeaningError(f"linear_before_reset={after!r}")
    gate, new = activations
    return gru(gate, new, reset_after=after == 1)


def _plain_kind(_: Call, activations: Sequence[Activation]) -> Kind:
    return plain(*activations)


def _recurrent(
    build: Callable[[Call, Sequence[Activation]], Kind],
    order: tuple[int, ...],
    defaults: tuple[str, ...],
) -> Meaning:
    """``order``: where ONNX has the gates of ``proof.spelled_recurrence``."""

    def meaning(call: Call) -> Sequence[Term]:
        if call.opset.get("", 1) < 7:
            raise NoMeaningError("a recurrent layer of an older operator set")
        directions = _DIRECTIONS.get(call.attr("direction", "forward"))
        if directions is None:
            raise NoMeaningError(f"direction={call.attr('direction')!r}")
        layout = call.attr("layout", 0)
        if layout not in (0, 1):
            raise NoMeaningError(f"layout={layout!r}")
        _refuse_options(call)
        kinds = [build(call, each) for each in _activations(call, defaults, len(directions))]
        t, x = call.terms, call.x()
        x = t.transpose(x, (1, 0, 2)) if layout else x
        _require_whole(call, x)
        starts = _starts(call, kinds[0], x, len(directions), layout=layout)
        outputs, ends = [], []
        for place, (reverse, kind) in enumerate(zip(directions, kinds, strict=True)):
            weights = _cell(call, place, order, len(directions))
            states = [each[place] for each in starts]
            output, last = layer(t, kind, weights, x, states, reverse=reverse)
            outputs.append(output)
            ends.append(last)
        whole = stacked(t, outputs, 2 if layout else 1)
        if layout:
            whole = t.transpose(whole, (1, 0, 2, 3))
        lasts = [stacked(t, each, 1 if layout else 0) for each in zip(*ends, strict=True)]
        return (whole, *lasts)

    return meaning


def _refuse_options(call: Call) -> None:
    call.only(3, 4, 5, 6, 7, 8)
    call.refuse("input_forget", 0)
    if call.attr("clip") is not None:
        raise NoMeaningError("a clipped cell")
    if call.attr("activation_alpha") or call.attr("activation_beta"):
        raise NoMeaningError("activations with parameters")
    if call.optional(_PEEPHOLES) is not None:
        raise NoMeaningError("peepholes")


def _activations(
    call: Call, defaults: tuple[str, ...], directions: int
) -> list[tuple[Activation, ...]]:
    """Those of each direction."""
    stated = call.attr("activations")
    # The schema's own default for RNN lists two directions, whatever the direction is.
    own = not stated or tuple(stated) == defaults * 2
    names = defaults * directions if own else tuple(stated)
    if len(names) != len(defaults) * directions or not set(names) <= set(ACTIVATIONS):
        raise NoMeaningError(f"activations={names!r}")
    each = len(defaults)
    found = [ACTIVATIONS[name] for name in names]
    return [tuple(found[at : at + each]) for at in range(0, len(found), each)]


def _require_whole(call: Call, x: Term) -> None:
    """Refuse sequences of other lengths than the tensor's."""
    if call.optional(_SEQUENCE_LENGTHS) is None:
        return
    lengths = np.asarray(call.value(_SEQUENCE_LENGTHS))
    if x.rank != 3 or lengths.shape != (x.shape[1],) or not (lengths == x.shape[0]).all():
        raise NoMeaningError("sequences of different lengths")


def _starts(call: Call, kind: Kind, x: Term, directions: int, *, layout: int) -> list[list[Term]]:
    """The initial states, each by direction; zeros where they are absent."""
    t, found = call.terms, []
    hidden = int(call.needs("hidden_size"))
    if x.rank != 3 or call.x(2).rank != 3 or call.x(2).shape[2] != hidden:
        raise NoMeaningError("a hidden size that does not fit")
    for state in range(kind.states):
        given = call.optional(_INITIAL_HIDDEN + state)
        if given is None:
            zero = t.constant(np.zeros(()), x.dtype)
            given = t.filled(zero, (directions, x.shape[1], hidden))
        elif layout:
            given = t.transpose(given, (1, 0, 2))
        if given.shape != (directions, x.shape[1], hidden):
            raise NoMeaningError("initial states that do not fit")
        found.append(unstacked(t, given, 0))
    if call.count > _INITIAL_HIDDEN + kind.states:
        rest = range(_INITIAL_HIDDEN + kind.states, call.count)
        if any(call.optional(place) is not None for place in rest):
            raise NoMeaningError(f"{call.count} inputs")
    return found


def _cell(call: Call, place: int, order: tuple[int, ...], directions: int) -> Cell:
    t = call.terms
    for at, rank in ((1, 3), (2, 3), (3, 2)):
        each = call.optional(at)
        if each is not None and (each.rank != rank or each.shape[0] != directions):
            raise NoMeaningError("weights that do not fit")
    of_input, of_state = (unstacked(t, call.x(at), 0)[place] for at in (1, 2))
    biases: list[Term | None] = [None, None]
    if call.optional(3) is not None:
        both = unstacked(t, call.x(3), 0)[place]
        if both.shape[0] != 2 * of_state.shape[0]:
            raise NoMeaningError("biases that do not fit")
        size = of_state.shape[0]
        biases = [ordered(t, t.slice(both, 0, at, size), order) for at in (0, size)]
    return Cell(
        of_input=ordered(t, of_input, order),
        of_state=ordered(t, of_state, order),
        input_bias=biases[0],
        state_bias=biases[1],
    )


RECURRENT: dict[str, Meaning] = {
    # ONNX has the gates input, output, forget, cell; and update, reset, hidden.
    "LSTM": _recurrent(_lstm_kind, (0, 2, 3, 1), ("Sigmoid", "Tanh", "Tanh")),
    "GRU": _recurrent(_gru_kind, (1, 0, 2), ("Sigmoid", "Tanh")),
    "RNN": _recurrent(_plain_kind, (0,), ("Tanh",)),
}
