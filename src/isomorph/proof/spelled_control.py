"""Branches and loops by their definitions, for every framework alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from isomorph.proof.loop_terms import Loop, Round, as_term, most_rounds
from isomorph.proof.spelled_movement import stacked, unstacked
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms


def branch(
    t: Terms,
    condition: Term,
    then: Callable[..., Sequence[Term]],
    other: Callable[..., Sequence[Term]],
    given: Sequence[Term] = (),
) -> list[Term]:
    """The results of one of two bodies of ``given``; only one is spelled if a constant decides.

    Otherwise each result is an unknown function of the condition and of both results: two branches
    are equal where their conditions are, and their bodies one by one.
    """
    decision = single(t, condition, "bool")
    if decision.op == "constant":
        return list(then(*given) if bool(decision.value()) else other(*given))
    results = list(zip(then(*given), other(*given), strict=True))
    if any(a.shape != b.shape or a.dtype != b.dtype or "list" in (a.op, b.op) for a, b in results):
        raise NoMeaningError("branches whose results have different shapes or types")
    return [
        t.known(a) if a is b else t.function("if", (decision, a, b), dtype=a.dtype)
        for a, b in results
    ]


def single(t: Terms, x: Term, dtype: str) -> Term:
    """One truth value or number, without axes."""
    if x.dtype != dtype or x.shape not in ((), (1,)):
        raise NoMeaningError(f"{x.dtype} {list(x.shape)} for a single {dtype}")
    return t.reshape(x, ())


def repeated(t: Terms, loop: Loop) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The last states of a loop and its outputs row by row.

    It is written out round by round where constants decide how many there are, and few enough.
    """
    written_out = _written_out(t, loop)
    return as_term(t, loop) if written_out is None else written_out


def _written_out(t: Terms, loop: Loop) -> tuple[tuple[Term, ...], tuple[Term, ...]] | None:
    most, going, states = loop.most, loop.going, loop.states
    limit = most_rounds(t)
    if most is not None and most.op != "constant":
        return None
    last = None if most is None else int(most.value())
    few = last is None or last <= limit
    rows: list[tuple[Term, ...]] = []
    parts = [unstacked(t, each, 0) for each in loop.sequences] if few else []
    for number in range(limit + 1):
        if going is not None and going.op != "constant":
            return None
        if (going is not None and not bool(going.value())) or (last is not None and number >= last):
            return states, _columns(t, rows)
        if number == limit or not few:
            return None
        given = tuple(part[number] for part in parts)
        found = _one_round(t, loop, number, going, (states, given))
        going, states = found.going if loop.going is not None else None, found.states
        rows.append(found.rows)
    raise AssertionError("the last round returns")


def _one_round(
    t: Terms,
    loop: Loop,
    number: int,
    going: Term | None,
    given: tuple[tuple[Term, ...], tuple[Term, ...]],
) -> Round:
    counter = t.constant(np.array(number, np.int64), "int64")
    t.written_out += 1
    try:
        return loop.step(counter, going, *given)
    finally:
        t.written_out -= 1


def _columns(t: Terms, rows: Sequence[tuple[Term, ...]]) -> tuple[Term, ...]:
    """Each output of all rounds, along a new first axis."""
    if not rows:
        return ()
    return tuple(stacked(t, column, 0) for column in zip(*rows, strict=True))


def while_loop(
    t: Terms,
    states: Sequence[Term],
    condition: Callable[..., Sequence[Term]],
    body: Callable[..., Sequence[Term]],
    fixed: Sequence[Term] = (),
) -> tuple[Term, ...]:
    """The last states; ``fixed`` are given to the condition and to the body as they are."""

    def goes_on(current: tuple[Term, ...]) -> Term:
        found = condition(*current, *fixed)
        if len(found) != 1:
            raise NoMeaningError("a condition with several results")
        return single(t, found[0], "bool")

    def step(_: Term, __: Term | None, current: tuple[Term, ...], ___: tuple[Term, ...]) -> Round:
        found = tuple(body(*current, *fixed))
        if len(found) != len(current):
            raise NoMeaningError("a body with another number of states")
        return Round(going=goes_on(found), states=found)

    start = tuple(states)
    return repeated(t, Loop(step=step, states=start, going=goes_on(start)))[0]
