"""Constants of the candidate that are expressions of the reference's constants.

A conversion that folds a normalization into a convolution, or a factor into weights, stores what
it computed, rounded. Such a constant stands for the expression, if every element lies within the
rounding of one evaluation of it in the declared type, and that leaves the element significant.
A constant of the reference itself is never an explanation for another number, and an expression
that the type evaluates exactly is none for its neighbors. Nor is an expression for which the
candidate has all the constants: it may compute it as well, and what differs would look equal.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof import Rerounded
from isomorph.core.stated_numbers import LEAST_SIGNIFICANCE
from isomorph.proof.rounding_bound import bounded, rounding
from isomorph.proof.term import FLOATS, Term
from isomorph.proof.terms import Terms

if TYPE_CHECKING:
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array
    from isomorph.proof.rounding_bound import Bounded

_ORDERS: Mapping[int, tuple[tuple[int, ...], ...]] = {
    2: ((1, 0),),
    4: ((0, 2, 3, 1), (1, 2, 3, 0), (2, 3, 1, 0), (2, 3, 0, 1)),
}
"""Further orders of axes in which frameworks store weights: OHWI, 1HWO and HWIO for OIHW."""


def explain(
    terms: Terms,
    constants: Mapping[str, Constant],
    read: Callable[[str], Array | None],
    stored: frozenset[str],
    inside: Iterable[Array] = (),
) -> tuple[dict[str, Term], list[Rerounded]]:
    """The term of each constant that is an expression; ``stored`` are the reference's digests.

    ``inside`` are further numbers that the candidate has, in bodies of branches and loops.
    """
    expressions: dict[tuple[int, ...], list[Term]] = defaultdict(list)
    wanted = {_plain(each.shape) for each in constants.values() if each.dtype in FLOATS}
    arranged: dict[int, int] = {}
    for term in list(terms.all):
        if term.static and term.op != "constant" and term.dtype in FLOATS and term.finite:
            expressions[_plain(term.shape)].append(term)
            for order in _ORDERS.get(term.rank, ()):
                if _plain(tuple(term.shape[axis] for axis in order)) in wanted:
                    turned = terms.transpose(term, order)
                    if turned.id not in arranged and turned is not term:
                        arranged[turned.id] = term.id
                        expressions[_plain(turned.shape)].append(turned)
    own = _Own(constants, read, [np.asarray(each, np.float64) for each in inside])
    known: dict[int, Bounded | None] = {}
    found: dict[str, tuple[Term, float]] = {}
    for name, constant in constants.items():
        if constant.dtype not in FLOATS:
            continue
        listed = expressions.get(_plain(constant.shape), [])
        value = read(name) if listed else None
        if value is None:
            continue
        best = _nearest(np.asarray(value, np.float64), constant.dtype, listed, known)
        if best is not None and (constant.digest in stored or not own.has_all(_leaves(best[0]))):
            found[name] = best
    return _distinct(terms, constants, found, stored, arranged)


@dataclass(slots=True)
class _Own:
    """The numbers that the candidate stores, in whatever order and shape."""

    constants: Mapping[str, Constant]
    read: Callable[[str], Array | None]
    inside: list[Array]
    _known: dict[int, set[bytes]] = field(default_factory=dict)

    def has_all(self, leaves: list[Term]) -> bool:
        """Whether the candidate stores the numbers of all these constants."""
        return all(_unordered(each.value()) in self._of_size(each.shape) for each in leaves)

    def _of_size(self, shape: tuple[int, ...]) -> set[bytes]:
        size = math.prod(shape)
        if size not in self._known:
            listed = (
                self.read(name)
                for name, each in self.constants.items()
                if math.prod(each.shape) == size and each.dtype in FLOATS
            )
            inner = [each for each in self.inside if each.size == size]
            self._known[size] = {_unordered(x) for x in (*listed, *inner) if x is not None}
        return self._known[size]


def _unordered(value: Array) -> bytes:
    """A digest of numbers that does not depend on their order."""
    plain = np.ascontiguousarray(value, np.float64).view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (plain ^ (plain >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return np.array([plain.sum(), mixed.sum()], np.uint64).tobytes()


def _leaves(term: Term) -> list[Term]:
    """The constants of an expression, without single numbers if there are others."""
    found: dict[int, Term] = {}
    stack = [term]
    while stack:
        at = stack.pop()
        if at.op == "constant":
            found[at.id] = at
        stack += at.inputs
    several = [each for each in found.values() if math.prod(each.shape) > 1]
    return several or list(found.values())


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
        allowed = error + rounding(expected, error, dtype)
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
    terms: Terms,
    constants: Mapping[str, Constant],
    found: Mapping[str, tuple[Term, float]],
    stored: frozenset[str],
    arranged: Mapping[int, int],
) -> tuple[dict[str, Term], list[Rerounded]]:
    """Without expressions that would make two constants of the candidate equal, or nearly so.

    A constant of both sides stands for itself; that it fits an expression shows that another
    one which fits may cancel with it.
    """
    users: dict[int, set[str]] = defaultdict(set)
    for name, (term, _) in found.items():
        users[arranged.get(term.id, term.id)].add(constants[name].digest)
    explained: dict[str, Term] = {}
    listed: list[Rerounded] = []
    for name, (term, relative) in found.items():
        if len(users[arranged.get(term.id, term.id)]) > 1 or constants[name].digest in stored:
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
