"""Constants of the candidate that are expressions of the reference's constants.

A conversion that folds a normalization into a convolution, or a factor into weights, stores what
it computed, rounded. Such a constant stands for the expression, if every element lies within the
rounding of one evaluation of it in the declared type, and that leaves the element significant.
A constant of the reference itself is never an explanation for another number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof import Rerounded
from isomorph.core.stated_numbers import LEAST_SIGNIFICANCE
from isomorph.proof.rounding_bound import UNITS, bounded
from isomorph.proof.term import FLOATS, Term
from isomorph.proof.terms import Terms

if TYPE_CHECKING:
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array
    from isomorph.proof.rounding_bound import Bounded


def explain(
    terms: Terms,
    constants: Mapping[str, Constant],
    read: Callable[[str], Array | None],
    stored: frozenset[str],
) -> tuple[dict[str, Term], list[Rerounded]]:
    """The term of each constant that is an expression; ``stored`` are the reference's digests."""
    expressions: dict[tuple[int, ...], list[Term]] = defaultdict(list)
    for term in list(terms.all):
        if term.static and term.op != "constant" and term.dtype in FLOATS and term.finite:
            expressions[_plain(term.shape)].append(term)
    known: dict[int, Bounded | None] = {}
    found: dict[str, tuple[Term, float]] = {}
    for name, constant in constants.items():
        if constant.dtype not in FLOATS or constant.digest in stored:
            continue
        listed = expressions.get(_plain(constant.shape), [])
        value = read(name) if listed else None
        if value is None:
            continue
        best = _nearest(np.asarray(value, np.float64), constant.dtype, listed, known)
        if best is not None:
            found[name] = best
    return _distinct(terms, constants, found)


def _plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _nearest(
    value: Array, dtype: str, listed: list[Term], known: dict[int, Bounded | None]
) -> tuple[Term, float] | None:
    best: tuple[Term, float] | None = None
    for term in listed:
        if term.dtype != dtype:
            continue
        bound = bounded(term, known)
        if bound is None:
            continue
        expected, error = (each.reshape(value.shape) for each in bound)
        allowed = error + UNITS[dtype] * np.abs(expected)
        off = np.abs(value - expected)
        significant = allowed <= LEAST_SIGNIFICANCE * np.abs(expected)
        # An element whose expression is exact must be met exactly, zero included.
        exact = (error == 0) & (off == 0)
        if not np.isfinite(expected).all() or not ((off <= allowed) & (significant | exact)).all():
            continue
        with np.errstate(all="ignore"):
            relative = float(np.nan_to_num(off / np.abs(expected)).max(initial=0.0))
        if best is None or relative < best[1]:
            best = term, relative
    return best


def _distinct(
    terms: Terms, constants: Mapping[str, Constant], found: Mapping[str, tuple[Term, float]]
) -> tuple[dict[str, Term], list[Rerounded]]:
    """Without expressions that would make two constants of the candidate equal."""
    users: dict[int, set[str]] = defaultdict(set)
    for name, (term, _) in found.items():
        users[term.id].add(constants[name].digest)
    explained: dict[str, Term] = {}
    listed: list[Rerounded] = []
    for name, (term, relative) in found.items():
        if len(users[term.id]) > 1:
            continue
        explained[name] = terms.reshape(term, constants[name].shape)
        listed.append(Rerounded(constant=name, expression=written(term), relative=relative))
    return explained, listed


def written(term: Term, depth: int = 4) -> str:
    """An expression for people, cut where it is deep."""
    if term.op == "constant":
        return f"c{list(term.shape)}"
    if depth == 0:
        return "…"
    name = str(term.attrs[0]) if term.op == "function" else term.op
    return f"{name}({', '.join(written(each, depth - 1) for each in term.inputs)})"
