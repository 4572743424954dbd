"""Recurrent layers by their definitions, step by step, for every framework alike.

A layer is spelled for the number of steps that its input has, or, where they are many, as one
loop. All frameworks compute the same
cells with their gates in other orders; here the gates of an LSTM are input, forget, cell, output,
and those of a GRU reset, update, new. A framework takes its weights apart by gates, so that the
order in which a file stores them does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from isomorph.proof import spelling as spell
from isomorph.proof.loop_terms import Loop, Round, as_term, most_rounds
from isomorph.proof.spelled_movement import equal_parts, stacked, turned, unstacked
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms

Activation = Callable[[Terms, Term], Term]

ACTIVATIONS: dict[str, Activation] = {
    "Sigmoid": spell.sigmoid,
    "Tanh": lambda t, x: spell.unary(t, "tanh", x),
    "Relu": spell.relu,
}
"""By the names that ONNX gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The weights of one direction of a layer, their gates in the order of this module.

    ``of_input`` is [gates * H, I], ``of_state`` [gates * H, H]; a bias is [gates * H] or absent.
    """

    of_input: Term
    of_state: Term
    input_bias: Term | None
    state_bias: Term | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of recurrent layer.

    ``step`` gives the next states, given the part of the gates that depends on the input, with
    its biases, and the states; the first state is the output. ``apart``: the last gate's bias of
    the state is no summand of the gate, so it is left to the step.
    """

    gates: int
    states: int
    step: Callable[[Terms, Cell, Term, tuple[Term, ...]], tuple[Term, ...]]
    apart: bool = False


def ordered(t: Terms, x: Term, order: Sequence[int]) -> Term:
    """The gates along the first axis in another order: place ``n`` takes gate ``order[n]``."""
    gates = equal_parts(t, x, 0, len(order))
    return t.concat([gates[at] for at in order], 0)


def lstm(gate: Activation, cell: Activation, hidden: Activation) -> Kind:
    """The next states are c' = f·c + i·g and h' = o·hidden(c')."""

    def step(t: Terms, weights: Cell, given: Term, states: tuple[Term, ...]) -> tuple[Term, ...]:
        h, c = states
        i, f, g, o = equal_parts(t, t.add(given, _product(t, h, weights.of_state)), 1, 4)
        kept = t.add(t.mul(gate(t, f), c), t.mul(gate(t, i), cell(t, g)))
        return t.mul(gate(t, o), hidden(t, kept)), kept

    return Kind(gates=4, states=2, step=step)


def gru(gate: Activation, new: Activation, *, reset_after: bool) -> Kind:
    """The next state is (1 - z)·n + z·h, with the reset behind a product with h, or before it."""

    def step(t: Terms, weights: Cell, given: Term, states: tuple[Term, ...]) -> tuple[Term, ...]:
        (h,) = states
        reset, update, last = equal_parts(t, given, 1, 3)
        first, second, third = equal_parts(t, weights.of_state, 0, 3)
        r = gate(t, t.add(reset, _product(t, h, first)))
        z = gate(t, t.add(update, _product(t, h, second)))
        if reset_after:
            inner = _product(t, h, third)
            bias = None if weights.state_bias is None else _last(t, weights.state_bias, 3)
            inner = inner if bias is None else t.add(inner, bias)
            inner = t.mul(r, inner)
        else:
            inner = _product(t, t.mul(r, h), third)
        n = new(t, t.add(last, inner))
        return (t.add(t.mul(t.sub(t.number(1.0, h.dtype), z), n), t.mul(z, h)),)

    return Kind(gates=3, states=1, step=step, apart=reset_after)


def plain(activation: Activation) -> Kind:
    """The next state is activation(x·W + h·R + b)."""

    def step(t: Terms, weights: Cell, given: Term, states: tuple[Term, ...]) -> tuple[Term, ...]:
        (h,) = states
        return (activation(t, t.add(given, _product(t, h, weights.of_state))),)

    return Kind(gates=1, states=1, step=step)


def layer(
    t: Terms, kind: Kind, weights: Cell, x: Term, states: Sequence[Term], *, reverse: bool = False
) -> tuple[Term, tuple[Term, ...]]:
    """One direction: of [T, B, I] and states of [B, H], all outputs [T, B, H] and the last states.

    ``reverse``: from the last step to the first; the outputs keep the places of their inputs.
    """
    _require_fit(kind, weights, x, states)
    steps = x.shape[0]
    if not steps:
        raise NoMeaningError("a recurrence of no steps")
    given = _of_input(t, kind, weights, x)
    if steps > most_rounds(t):
        return _as_loop(t, kind, weights, given, tuple(states), reverse=reverse)
    rows = unstacked(t, given, 0)
    current = tuple(states)
    outputs: list[Term] = []
    for row in reversed(rows) if reverse else rows:
        current = kind.step(t, weights, row, current)
        outputs.append(current[0])
    return stacked(t, outputs[::-1] if reverse else outputs, 0), current


def _as_loop(
    t: Terms,
    kind: Kind,
    weights: Cell,
    given: Term,
    states: tuple[Term, ...],
    *,
    reverse: bool,
) -> tuple[Term, tuple[Term, ...]]:
    """The same as one term: what a step computes from any state and row."""

    def step(_: Term, __: Term | None, current: tuple[Term, ...], rows: tuple[Term, ...]) -> Round:
        found = kind.step(t, weights, rows[0], current)
        return Round(going=None, states=found, rows=found[:1])

    most = t.constant(np.array(given.shape[0], np.int64), "int64")
    sequence = turned(t, given) if reverse else given
    loop = Loop(step=step, states=states, most=most, sequences=(sequence,))
    ends, rows = as_term(t, loop)
    return turned(t, rows[0]) if reverse else rows[0], ends


def one_step(
    t: Terms, kind: Kind, weights: Cell, x: Term, states: Sequence[Term]
) -> tuple[Term, ...]:
    """The states behind one step, of [B, I] and states of [B, H]."""
    one = t.reshape(x, (1, *x.shape))
    return layer(t, kind, weights, one, states)[1]


def _require_fit(kind: Kind, weights: Cell, x: Term, states: Sequence[Term]) -> None:
    """Refuse sizes that do not fit, and other types than one of floats."""
    given = [x, *states, weights.of_input, weights.of_state, weights.input_bias, weights.state_bias]
    if x.rank != 3 or len(states) != kind.states or weights.of_state.rank != 2:
        raise NoMeaningError("a recurrent layer whose inputs do not fit")
    hidden, features = weights.of_state.shape[1], x.shape[2]
    fits = weights.of_state.shape == (kind.gates * hidden, hidden)
    fits = fits and weights.of_input.shape == (kind.gates * hidden, features)
    fits = fits and all(each.shape == (x.shape[1], hidden) for each in states)
    for bias in (weights.input_bias, weights.state_bias):
        fits = fits and (bias is None or bias.shape == (kind.gates * hidden,))
    if not fits:
        raise NoMeaningError("a recurrent layer whose sizes do not fit")
    if any(each is not None and each.dtype != x.dtype for each in given) or not x.is_float:
        raise NoMeaningError("a recurrent layer of different types")
    if not all(each is None or each.finite for each in given):
        raise NoMeaningError("a recurrent layer of what may be infinite")


def _of_input(t: Terms, kind: Kind, weights: Cell, x: Term) -> Term:
    """What the gates of all steps take from the input, with every bias that is a summand."""
    given = _product(t, x, weights.of_input)
    biases = [weights.input_bias, weights.state_bias]
    if kind.apart and weights.state_bias is not None:
        parts = equal_parts(t, weights.state_bias, 0, kind.gates)
        none = t.constant(np.zeros(parts[-1].shape), x.dtype)
        biases[1] = t.concat([*parts[:-1], none], 0)
    stated = [each for each in biases if each is not None and not _is_zero(each)]
    if not stated:
        return given
    return t.add(given, stated[0] if len(stated) == 1 else t.add(*stated))


def _product(t: Terms, x: Term, weight: Term) -> Term:
    return spell.matmul(t, x, spell.swapped(t, weight))


def _last(t: Terms, bias: Term, gates: int) -> Term | None:
    part = equal_parts(t, bias, 0, gates)[-1]
    return None if _is_zero(part) else part


def _is_zero(x: Term) -> bool:
    """Whether a constant is zero: some files state a second bias that has no values."""
    return x.op == "constant" and not np.any(x.value())
