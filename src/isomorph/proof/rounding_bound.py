"""How far a static expression may be off where it is evaluated in the declared type.

The first-order bound of a running error analysis: each operation rounds once. A constant that a
conversion computed lies within it, around the value of its expression in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import FUNCTION_ROUNDINGS, LEAST_SIGNIFICANCE
from isomorph.kernels.erf import erf
from isomorph.oracle.noise import UNIT_ROUNDOFF
from isomorph.proof.movement import moved
from isomorph.proof.term import MOVES, unknown_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isomorph.core.trace import Array
    from isomorph.proof.term import Term

_FEW = 16
"""Elements that are compared before all are."""

_BLOCK = 1 << 15
"""Elements that are compared at once: their intermediate results stay in the CPU's cache."""

_FIRSTS = frozenset(
    {"add", "mul", "inverse", "function", "transpose", "reshape", "expand", "retype"}
)
"""Primitives of which the first element follows from the first elements of their inputs."""

Bounded = tuple["Array", "Array"]

_SLOPES: Mapping[str, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    "sin": (np.sin, lambda a, _: np.abs(np.cos(a))),
    "cos": (np.cos, lambda a, _: np.abs(np.sin(a))),
    "exp": (np.exp, lambda _, y: y),
    "log": (np.log, lambda a, _: np.abs(1.0 / a)),
    "tanh": (np.tanh, lambda _, y: 1.0 - y * y),
    "erf": (erf, lambda a, _: 2.0 / np.sqrt(np.pi) * np.exp(-a * a)),
}
"""Functions that libraries evaluate: each with how much it enlarges an error of its argument."""


def bounded(term: Term, known: dict[int, Bounded | None]) -> Bounded | None:
    """The value of a static term in float64, and the bound; None where there is none.

    ``known`` keeps what was computed.
    """
    for at in unknown_terms(term, known):
        given = [known[each.id] for each in at.inputs]
        exact = [each for each in given if each is not None]
        known[at.id] = _step(at, exact) if len(exact) == len(given) else None
    return known[term.id]


def first_of(term: Term, known: dict[int, Bounded | None]) -> Bounded | None:
    """The same of the first element alone; None where it does not follow from first elements."""
    stack = [] if term.id in known else [term]
    while stack:
        at = stack[-1]
        if at.id in known or not (at.op in _FIRSTS or at.op == "constant"):
            known.setdefault(at.id, None)
            stack.pop()
            continue
        missing = [each for each in at.inputs if each.id not in known]
        stack += missing
        if not missing:
            known[at.id] = _first(at, [known[each.id] for each in at.inputs])
    return known[term.id]


def _first(term: Term, given: list[Bounded | None]) -> Bounded | None:
    if term.op == "constant":
        first = np.asarray(term.value()).flat[:1] if term.first is None else term.first
        value = np.array(first, np.float64)
        return (value, np.zeros(1)) if value.size else None
    exact = [each for each in given if each is not None]
    if len(exact) != len(given):
        return None
    return exact[0] if term.op in MOVES else _step(term, exact)


def is_off(number: float, first: Bounded, dtype: str) -> bool:
    """Whether the first number lies beyond an error and one rounding: the most that may fit."""
    expected, error = first[0].item(0), first[1].item(0)
    return not abs(number - expected) <= error + UNIT_ROUNDOFF[dtype] * abs(expected)


def rounding(value: Array, error: Array, dtype: str) -> Array:
    """The rounding of results; none where they are exact and the type holds them."""
    rounded = np.asarray(np.abs(value))
    rounded *= UNIT_ROUNDOFF[dtype]
    exact = np.asarray(error == 0)
    if dtype == "bfloat16" or not exact.any():
        return rounded
    return np.asarray(np.where(exact & (value.astype(dtype) == value), 0.0, rounded))


def fitting(value: Array, bound: Bounded, dtype: str) -> float | None:
    """How far numbers are off an expression, relatively; None where they do not stand for it.

    They do if each lies within the rounding of one evaluation, which leaves it significant; an
    element whose expression is exact must be met exactly, zero included.
    """
    expected, error = bound
    # Most expressions are another one in every element: few of them tell.
    few = few_of(value.size)
    if _fitting(value.flat[few], expected.flat[few], error.flat[few], dtype) is None:
        return None
    own, expected, error = (np.ravel(each) for each in (value, expected, error))
    worst = 0.0
    for at in range(0, value.size, _BLOCK):
        here = slice(at, at + _BLOCK)
        found = _fitting(own[here], expected[here], error[here], dtype)
        if found is None:
            return None
        worst = max(worst, found)
    return worst


def few_of(size: int) -> Array:
    """The places of few elements of a tensor of this size, spread over it."""
    return np.arange(0, size, max(1, size // _FEW))


def _fitting(value: Array, expected: Array, error: Array, dtype: str) -> float | None:
    with np.errstate(all="ignore"):
        allowed = error + rounding(expected, error, dtype)
        off = np.abs(value - expected)
        significant = allowed <= LEAST_SIGNIFICANCE * np.abs(expected)
        exact = (error == 0) & (off == 0)
        met = np.isfinite(expected) & (off <= allowed) & (significant | exact)
        if not met.all():
            return None
        relative = np.divide(off, np.abs(expected), out=np.zeros_like(off), where=off > 0)
        return float(relative.max(initial=0.0))


def _step(term: Term, given: list[Bounded]) -> Bounded | None:
    if not term.static or not term.is_float:
        return None
    unit = UNIT_ROUNDOFF[term.dtype]
    if term.op == "constant":
        value = np.asarray(term.value())
        return value, np.broadcast_to(0.0, value.shape)
    if term.op in MOVES:
        value, error = (moved(term, [each[at] for each in given]) for at in (0, 1))
        return value, error
    with np.errstate(all="ignore"):
        if term.op == "mul":
            return product(given[0], given[1], term.dtype)
        given = [(np.asarray(value, np.float64), error) for value, error in given]
        match term.op, term.attrs[0] if term.attrs else "":
            case "add", _:
                (a, da), (b, db) = given
                value = a + b
                return value, da + db + rounding(value, da + db, term.dtype)
            case "inverse", _:
                a, da = given[0]
                value = 1.0 / a
                # One divided by a float64 is a rounded quotient, unless multiplying returns.
                exact = np.where(value * a == 1.0, 0.0, unit * np.abs(value))
                error = da * value * value + exact
                return value, error + rounding(value, error, term.dtype)
            case "function", "sqrt":
                a, da = given[0]
                value = np.sqrt(a)
                error = da / (2 * value) + np.where(value * value == a, 0.0, unit * value)
                return value, error
            case "function", name if name in _SLOPES and len(given) == 1:
                (a, da), (function, slope) = given[0], _SLOPES[name]
                value = np.asarray(function(a))
                return value, slope(a, value) * da + FUNCTION_ROUNDINGS * unit * np.abs(value)
            case "function", "pow":
                (a, da), (b, db) = given
                value = np.power(a, b)
                slopes = np.abs(value * b / a) * da + np.abs(value * np.log(a)) * db
                return value, slopes + FUNCTION_ROUNDINGS * unit * np.abs(value)
            case "sum" | "matmul", _:
                return _accumulated(term, given)
            case _:
                return None


def product(one: Bounded, other: Bounded, dtype: str) -> Bounded:
    """A product. Constants may have a narrower type; results are made in as few arrays as possible.

    Of large weights, most of the time is that of new memory.
    """
    (a, da), (b, db) = one, other
    value = np.asarray(np.multiply(a, b, dtype=np.float64))
    parts = [
        np.asarray(np.multiply(np.abs(x), off, dtype=np.float64))
        for x, off in ((a, db), (b, da))
        if off.any()
    ]
    if not parts:
        return value, rounding(value, np.zeros((1,) * value.ndim), dtype)
    error = parts[0]
    for each in parts[1:]:
        error += each
    error += rounding(value, error, dtype)
    return value, error


def _accumulated(term: Term, given: list[Bounded]) -> Bounded:
    """Sums in any order: each of the roundings is at most one of the sum of magnitudes."""
    if term.op == "sum":
        (a, da), axes = given[0], term.attrs[0]
        value, error, size = (each.sum(axis=axes) for each in (a, da, np.abs(a)))
        count = int(np.prod([term.inputs[0].shape[axis] for axis in axes]))
    else:
        (a, da), (b, db) = given
        value, size = a @ b, np.abs(a) @ np.abs(b)
        error = np.abs(a) @ db + da @ np.abs(b)
        count = term.inputs[0].shape[-1] + 1
    return np.asarray(value), np.asarray(error + count * UNIT_ROUNDOFF[term.dtype] * size)
