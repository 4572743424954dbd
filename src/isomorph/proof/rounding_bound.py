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
                return value, da + db + unit * np.abs(value)
            case "mul", _:
                (a, da), (b, db) = given
                value = a * b
                return value, np.abs(a) * db + np.abs(b) * da + unit * np.abs(value)
            case "inverse", _:
                a, da = given[0]
                value = 1.0 / a
                return value, da * value * value + unit * np.abs(value)
            case "function", "sqrt":
                a, da = given[0]
                value = np.sqrt(a)
                return value, da / (2 * value) + unit * value
            case _:
                return None
