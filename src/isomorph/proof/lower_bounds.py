"""A number that no element of a term falls below, whatever the inputs are.

Where an argument stays away from zero, a division, root or logarithm of it changes by little where
the argument does. What is not known here has no bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof_limits import PROOF_SIGNS
from isomorph.proof.real import evaluated
from isomorph.proof.signs import NEGATIVE, signs
from isomorph.proof.sizes import any_size, same
from isomorph.proof.term import MOVES, is_function

if TYPE_CHECKING:
    from isomorph.proof.term import Term


def least(term: Term, depth: int = PROOF_SIGNS.most) -> float:
    """The lower bound of the elements of a float term, or minus infinity."""
    if not depth or not term.is_float or not term.finite or not math.prod(term.shape):
        return -math.inf
    if term.static:
        with np.errstate(all="ignore"):
            found = float(np.min(evaluated(term, {})))
        return found if math.isfinite(found) else -math.inf
    bound = _combined(term, depth - 1)
    return bound if bound > 0 or signs(term) & NEGATIVE else 0.0


def _combined(term: Term, depth: int) -> float:
    given = [least(each, depth) for each in term.inputs if each.is_float]
    if term.op in MOVES and term.op != "spread" and len(given) == len(term.inputs):
        return min(given)
    match term.op:
        case "rows" if term.attrs[0].startswith("softmax"):
            return 0.0
        case "add":
            return given[0] + given[1]
        case "mul" if min(given) > 0:
            return given[0] * given[1]
        case "sum":
            return 1.0 if _reaches_one(term) else _of_sum(term, given[0])
        case "largest":
            return given[0]
        case "function" if term.attrs[0] == "max":
            return max(given)
        case "function" if term.attrs[0] == "sqrt" and given[0] > 0:
            return math.sqrt(given[0])
        case _:
            return -math.inf


def _of_sum(term: Term, least_of_one: float) -> float:
    """The bound of a sum; of an axis of any size it has one element at least."""
    sizes = [term.inputs[0].shape[axis] for axis in term.attrs[0]]
    if any_size(sizes):
        return least_of_one if least_of_one >= 0 else -math.inf
    return float(math.prod(sizes)) * least_of_one


def _reaches_one(total: Term) -> bool:
    """Whether a sum is of the exponentials of a row less its largest element, as in a softmax."""
    x = total.inputs[0]
    if not is_function(x, "exp") or x.inputs[0].op != "add":
        return False
    a, b = x.inputs[0].inputs
    return any(_less_largest(x, top, total.attrs[0]) for x, top in ((a, b), (b, a)))


def _less_largest(x: Term, top: Term, axes: tuple[int, ...]) -> bool:
    """Whether ``top`` is minus the largest elements of ``x`` over axes, which are kept."""
    kept = tuple(1 if at in axes else size for at, size in enumerate(x.shape))
    if not same(top.shape, kept):
        return False
    turned = False
    while top.op in ("reshape", "mul"):
        if top.op == "mul":
            rest = [each for each in top.inputs if not _is_minus_one(each)]
            if len(rest) != 1 or turned or not same(rest[0].shape, top.shape):
                return False
            turned = True
            top = rest[0]
        else:
            top = top.inputs[0]
    return (
        turned
        and top.op == "largest"
        and top.inputs[0] is x
        and top.attrs[0] == axes
        and top.data is None
    )


def _is_minus_one(x: Term) -> bool:
    return x.op == "constant" and not x.shape and float(x.value()) == -1.0
