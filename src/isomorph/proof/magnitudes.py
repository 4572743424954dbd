"""How large the elements of a term can become, whatever the inputs are.

What is not known here has no bound. A normalization is bounded by its own definition: an element,
divided by the root of a mean of squares in which its own square is, is at most the root of their
count. So the scores of an attention behind a normalization are bounded for every input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.real import evaluated
from isomorph.proof.signs import NEGATIVE, signs
from isomorph.proof.term import MOVES, is_function

if TYPE_CHECKING:
    from isomorph.proof.term import Term

_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "tanh": lambda _: 1.0, "erf": lambda _: 1.0, "sin": lambda _: 1.0, "cos": lambda _: 1.0,
    "sign": lambda _: 1.0, "sqrt": lambda x: max(1.0, x), "softplus": lambda x: x + 1.0,
    "max": max, "min": max, "floor": lambda x: x + 1.0, "ceil": lambda x: x + 1.0,
}  # fmt: skip
"""A bound of a function's results, from the bounds of its arguments."""


def magnitude(term: Term, known: dict[int, float] | None = None) -> float:
    """A number that no element exceeds, or infinity; ``known`` keeps what was found."""
    known = {} if known is None else known
    stack = [term]
    while stack:
        at = stack[-1]
        if at.id in known:
            stack.pop()
            continue
        direct = _direct(at)
        if direct is None:
            missing = [each for each in at.inputs if each.id not in known]
            if missing:
                stack += missing
                continue
            direct = _combined(at, [known[each.id] for each in at.inputs])
        known[at.id] = direct
        stack.pop()
    return known[term.id]


def _direct(term: Term) -> float | None:
    """A bound that needs none of the inputs; None where theirs decide."""
    if not term.is_float or not term.finite or not term.inputs:
        return _largest(term) if term.op == "constant" and term.finite else math.inf
    if term.static:
        with np.errstate(all="ignore"):
            largest = float(np.abs(evaluated(term, {})).max(initial=0.0))
        return largest if math.isfinite(largest) else math.inf
    if term.op == "rows" and term.attrs[0] == "softmax":
        return 1.0
    if term.op == "mul":
        for x, divisor in (term.inputs, term.inputs[::-1]):
            found = _normalized(x, divisor)
            if found is not None:
                return found
    return None


def _largest(constant: Term) -> float:
    return float(np.abs(np.asarray(constant.value(), np.float64)).max(initial=0.0))


def _combined(term: Term, given: list[float]) -> float:
    if term.op == "lookup":
        return given[0]
    if term.op in MOVES or term.op == "largest":
        return max(given)
    match term.op:
        case "add":
            return given[0] + given[1]
        case "mul":
            return _product(*given)
        case "sum":
            axes = term.attrs[0]
            return _product(given[0], math.prod(term.inputs[0].shape[axis] for axis in axes))
        case "matmul":
            return _product(*given, term.inputs[0].shape[-1])
        case "conv":
            return _product(*given, math.prod(term.inputs[1].shape[1:]))
        case "inverse":
            return _inverse(term.inputs[0])
        case "function" if term.attrs[0] in _FUNCTIONS:
            return _FUNCTIONS[term.attrs[0]](*given)
        case _:
            return math.inf


def _product(*given: float) -> float:
    return math.inf if math.inf in given else math.prod(given)


def _inverse(divisor: Term) -> float:
    """Of a positive number plus what is never negative, as in a sigmoid."""
    if divisor.op != "add":
        return math.inf
    for stated, rest in (divisor.inputs, divisor.inputs[::-1]):
        if stated.op == "constant" and stated.finite and not signs(rest) & NEGATIVE:
            least = float(np.asarray(stated.value(), np.float64).min(initial=math.inf))
            if least > 0:
                return 1.0 / least
    return math.inf


def _normalized(x: Term, divisor: Term) -> float | None:
    """The bound of ``x / sqrt(f * sum(x * x) + e)``: one divided by the root of f.

    The divisor must be the sum over axes of x itself, with these axes kept as axes of size 1.
    """
    root = divisor.inputs[0] if divisor.op == "reshape" else divisor
    if root.op != "inverse" or not is_function(root.inputs[0], "sqrt"):
        return None
    squared = root.inputs[0].inputs[0]
    for mean, epsilon in _operands(squared, "add"):
        if epsilon.op != "constant" or np.any(np.asarray(epsilon.value()) < 0):
            continue
        for total, factor in _operands(mean, "mul"):
            if total.op != "sum" or not factor.static or math.prod(factor.shape) != 1:
                continue
            squares, axes = total.inputs[0], total.attrs[0]
            kept = tuple(1 if at in axes else size for at, size in enumerate(x.shape))
            same = squares.op == "mul" and squares.inputs == (x, x) and divisor.shape == kept
            share = float(np.asarray(evaluated(factor, {})).reshape(()))
            if same and share > 0:
                return 1.0 / math.sqrt(share)
    return None


def _operands(term: Term, op: str) -> tuple[tuple[Term, Term], ...]:
    """The operands of an operation in both orders; none of another operation."""
    if term.op != op:
        return ()
    a, b = term.inputs
    return (a, b), (b, a)
