"""Constants of the candidate that are expressions of the reference's constants.

A conversion that folds a normalization into a convolution, or a factor into weights, stores what
it computed, rounded. Such a constant stands for the expression, if every element lies within the
rounding of one evaluation of it in the declared type, and that leaves the element significant.
A constant of the reference itself is never an explanation for another number, and an expression
that the type evaluates exactly is none for its neighbors. Nor is an expression that the
candidate may compute as well (``own_numbers``): what differs would look equal.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.proof import Rerounded
from isomorph.proof.rounding_bound import bounded, first_of, fitting, is_off
from isomorph.proof.scaled_constants import fitting_scaled, scaled
from isomorph.proof.term import FLOATS, Term, unknown_terms
from isomorph.proof.terms import Terms

if TYPE_CHECKING:
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array
    from isomorph.proof.own_numbers import OwnNumbers
    from isomorph.proof.rounding_bound import Bounded

_ORDERS: Mapping[int, tuple[tuple[int, ...], ...]] = {
    2: ((1, 0),),
    4: ((0, 2, 3, 1), (1, 2, 3, 0), (2, 3, 1, 0), (2, 3, 0, 1)),
}
"""Further orders of axes in which frameworks store weights: OHWI, 1HWO and HWIO for OIHW."""

_LARGE = 1 << 16
"""Elements from which on the value of an expression is computed again where it is needed again."""


Earlier = dict[str, "tuple[bytes, float] | None"]
"""The expression that each constant was found to stand for, by its structure, or None."""


def explain(
    terms: Terms, own: OwnNumbers, stored: frozenset[str], earlier: Earlier | None = None
) -> tuple[dict[str, Term], list[Rerounded]]:
    """The term of each constant that is an expression; ``stored`` are the reference's digests.

    ``earlier`` keeps what was found, for further proofs of the same pair: most of their time is
    that of large weights. An expression of the same structure has the same numbers.
    """
    earlier = {} if earlier is None else earlier
    constants = own.constants
    expressions: dict[tuple[int, ...], list[Term]] = defaultdict(list)
    wanted = {_plain(each.shape) for each in constants.values() if each.dtype in FLOATS}
    arranged: dict[int, int] = {}
    for term in list(terms.all):
        if term.static and term.op != "constant" and term.dtype in FLOATS and term.finite:
            expressions[_plain(term.shape)].append(term)
            for order in _ORDERS.get(term.rank, ()):
                # What moves sizes of 1 alone has the same numbers in the same order.
                moved = [axis for axis in order if term.shape[axis] != 1]
                sizes = tuple(term.shape[axis] for axis in moved)
                if sizes in wanted and moved != sorted(moved):
                    turned = terms.transpose(term, order)
                    if turned.id not in arranged and turned is not term:
                        arranged[turned.id] = term.id
                        expressions[_plain(turned.shape)].append(turned)
    known: dict[int, Bounded | None] = {}
    firsts: dict[int, Bounded | None] = {}
    found: dict[str, tuple[Term, float]] = {}
    structures: dict[int, bytes] = {}
    for name, constant in constants.items():
        if constant.dtype not in FLOATS:
            continue
        listed = expressions.get(_plain(constant.shape), [])
        if name in earlier:
            again = _again(earlier[name], listed, structures)
            found |= {} if again is None else {name: again}
            continue
        earlier[name] = None
        value = own.read(name) if listed else None
        if value is None:
            continue
        plain = np.asarray(value)
        number = float(plain.flat[0]) if plain.size else None
        likely = [each for each in listed if _may_fit(number, constant.dtype, each, firsts)]
        best = _nearest(plain, constant.dtype, likely, known)
        if best is None:
            continue
        may_cancel = own.may_compute(best[0]) or own.has_another(
            plain, partial(bounded, best[0], known), constant.dtype
        )
        _drop_large(known)
        if constant.digest in stored or not may_cancel:
            found[name] = best
            earlier[name] = structure(best[0], structures), best[1]
    return _distinct(terms, constants, found, stored, arranged)


def _again(
    chosen: tuple[bytes, float] | None, listed: list[Term], structures: dict[int, bytes]
) -> tuple[Term, float] | None:
    """The expression of this structure, if it is listed."""
    if chosen is None:
        return None
    for term in listed:
        if structure(term, structures) == chosen[0]:
            return term, chosen[1]
    return None


def structure(term: Term, known: dict[int, bytes]) -> bytes:
    """A digest of a static expression and its constants; ``known`` keeps those of terms, by id."""
    for at in unknown_terms(term, known):
        own = repr((at.op, at.attrs, at.shape, at.dtype)).encode()
        inner = b"".join(known[each.id] for each in at.inputs)
        known[at.id] = hashlib.blake2b(own + inner, digest_size=16).digest()
    return known[term.id]


def _plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _may_fit(
    number: float | None, dtype: str, term: Term, firsts: dict[int, Bounded | None]
) -> bool:
    """Whether an expression has the type, and this first element as far as it is known."""
    if term.dtype != dtype:
        return False
    first = None if number is None else first_of(term, firsts)
    return first is None or number is None or not is_off(number, first, dtype)


def _drop_large(known: dict[int, Bounded | None]) -> None:
    """Forget what is large: most of it is needed once, and new memory takes longer than reuse."""
    large = [key for key, each in known.items() if each is not None and each[0].size > _LARGE]
    for key in large:
        del known[key]


def _nearest(
    value: Array, dtype: str, listed: list[Term], known: dict[int, Bounded | None]
) -> tuple[Term, float] | None:
    best: tuple[Term, float] | None = None
    for term in listed:
        relative = _fitting(value, dtype, term, known)
        if relative is not None and (best is None or relative < best[1]):
            best = term, relative
    return best


def _fitting(
    value: Array, dtype: str, term: Term, known: dict[int, Bounded | None]
) -> float | None:
    """How far numbers are off an expression, relatively; None where they do not stand for it."""
    product = scaled(term, known)
    if product is not None:
        return fitting_scaled(value, product, dtype)
    bound = bounded(term, known)
    return None if bound is None else fitting(value, bound, dtype)


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
