"""How far a static expression may be off where it is evaluated in the declared type.

The first-order bound of a running error analysis: each operation rounds once. A constant that a
conversion computed lies within it, around the value of its expression in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.movement import moved
from isomorph.proof.term import MOVES

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.proof.term import Term

UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
"""The relative error of one rounding."""

Bounded = tuple["Array", "Array"]


def bounded(term: Term, known: dict[int, Bounded | None]) -> Bounded | None:
    """The value of a static term in float64, and the bound; None where there is none.

    ``known`` keeps what was computed.
    """
    stack = [term]
    while stack:
        at = stack[-1]
        missing = [each for each in at.inputs if each.id not in known]
        if missing and at.id not in known:
            stack += missing
            continue
        stack.pop()
        if at.id not in known:
            given = [known[each.id] for each in at.inputs]
            exact = [each for each in given if each is not None]
            known[at.id] = _step(at, exact) if len(exact) == len(given) else None
    return known[term.id]


def rounding(value: Array, error: Array, dtype: str) -> Array:
    """The rounding of results; none where they are exact and the type holds them."""
    rounded = UNITS[dtype] * np.abs(value)
    if dtype == "bfloat16":
        return np.asarray(rounded)
    return np.asarray(np.where((error == 0) & (value.astype(dtype) == value), 0.0, rounded))


def _step(term: Term, given: list[Bounded]) -> Bounded | None:
    if not term.static or not term.is_float or term.dtype not in UNITS:
        return None
    unit = UNITS[term.dtype]
    if term.op == "constant":
        value = np.asarray(term.value(), np.float64)
        return value, np.zeros_like(value)
    if term.op in MOVES:
        value, error = (moved(term, [each[at] for each in given]) for at in (0, 1))
        return value, error
    with np.errstate(all="ignore"):
        match term.op, term.attrs[0] if term.attrs else "":
            case "add", _:
                (a, da), (b, db) = given
                value = a + b
                return value, da + db + rounding(value, da + db, term.dtype)
            case "mul", _:
                (a, da), (b, db) = given
                value = a * b
                error = np.abs(a) * db + np.abs(b) * da
                return value, error + rounding(value, error, term.dtype)
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
            case _:
                return None
