"""Which signs the elements of a term can have, to tell where a function is defined.

A set of signs is a number of three bits. What is not known here can have every sign.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof_limits import PROOF_SIGNS
from isomorph.proof.size_functions import positive
from isomorph.proof.term import MOVES

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.proof.term import Term

NEGATIVE, ZERO, POSITIVE = 1, 2, 4
EVERY = NEGATIVE | ZERO | POSITIVE

_KEEP = frozenset({"tanh", "sinh", "asinh", "atan", "erf", "sign", "sqrt"})
"""Functions of which each result has the sign of its argument."""

_ABOVE = frozenset({"exp", "softplus", "cosh"})
"""Functions whose results are all above zero."""


def always_defined(term: Term, name: str) -> bool:
    """Whether a partial function is defined and finite for every value of its argument."""
    if not term.finite:
        return False
    found = signs(term)
    if name == "inverse":
        return not found & ZERO
    if name == "sqrt":
        return not found & NEGATIVE
    return name in ("log", "pow") and found == POSITIVE


def signs(term: Term, depth: int = PROOF_SIGNS.most) -> int:
    """The signs that elements of a float term can have."""
    if not depth or not term.is_float or not term.finite or not math.prod(term.shape):
        return EVERY
    if term.op == "constant":
        return _of_numbers(term)
    if term.op == "sizes":
        return POSITIVE if positive(term) else EVERY
    given = [signs(each, depth - 1) for each in term.inputs if each.is_float]
    if term.op in MOVES and len(given) == len(term.inputs):
        return _union(given) | (ZERO if term.op == "spread" else 0)
    match term.op:
        case "add":
            return _each(_added, given)
        case "mul":
            if term.inputs[0] is term.inputs[1]:
                return (POSITIVE if given[0] & ~ZERO else 0) | (given[0] & ZERO)
            return _each(_multiplied, given)
        case "sum":
            return _each(_added, [given[0], given[0]])
        case "largest":
            return given[0]
        case "inverse":
            return given[0] & ~ZERO
        case "function":
            return _of_function(term, given)
        case _:
            return EVERY


def _of_function(term: Term, given: list[int]) -> int:
    name = term.attrs[0]
    if name in _ABOVE:
        return POSITIVE
    if name in _KEEP:
        return given[0]
    if name == "max":
        if _opposite(*term.inputs):
            return ZERO | POSITIVE
        return _each(max, given)
    return _union(given) if name == "where" and len(given) == 2 else EVERY


def _opposite(a: Term, b: Term) -> bool:
    """Whether one term is the other times minus one."""
    for x, other in ((a, b), (b, a)):
        if x.op == "mul" and other in x.inputs:
            factor = x.inputs[1] if x.inputs[0] is other else x.inputs[0]
            if factor.op == "constant" and not factor.shape and float(factor.value()) == -1.0:
                return True
    return False


def _of_numbers(term: Term) -> int:
    value = np.asarray(term.value(), np.float64)
    parts = ((value < 0, NEGATIVE), (value == 0, ZERO), (value > 0, POSITIVE))
    return _union([sign for found, sign in parts if found.any()])


def _union(given: list[int]) -> int:
    found = 0
    for each in given:
        found |= each
    return found


def _each(function: Callable[[int, int], int], given: list[int]) -> int:
    """The results for every pair of signs; ``function`` takes and gives single ones."""
    singles = [[sign for sign in (NEGATIVE, ZERO, POSITIVE) if each & sign] for each in given]
    return _union([function(a, b) for a, b in product(*singles)])


def _added(a: int, b: int) -> int:
    if ZERO in (a, b):
        return b if a == ZERO else a
    return a if a == b else EVERY


def _multiplied(a: int, b: int) -> int:
    if ZERO in (a, b):
        return ZERO
    return POSITIVE if a == b else NEGATIVE
