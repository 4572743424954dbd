"""The numbers that a side has itself, so that no other number of it stands for the same.

A constant of a side stands for an expression of the other side's constants. If the side computes
that expression as well, the constant and what it computes would look equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import LEAST_SIGNIFICANCE
from isomorph.proof.rounding_bound import bounded, rounding
from isomorph.proof.term import FLOATS

if TYPE_CHECKING:
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array
    from isomorph.proof.rounding_bound import Bounded
    from isomorph.proof.term import Term

_FEW = 16
"""Elements that are compared before all are."""


@dataclass(slots=True)
class OwnNumbers:
    """The constants of a side, the values that follow from them, and the terms of its tensors.

    ``terms`` gives the terms of all tensors, spelled without any explanation.
    """

    constants: Mapping[str, Constant]
    read: Callable[[str], Array | None]
    values: Mapping[str, Array] = field(default_factory=dict)
    terms: Callable[[], Iterable[Term]] = tuple
    inside: Sequence[Array] = ()
    """Further numbers that it stores, in bodies of branches and loops."""
    repeated: Callable[[], Iterable[float]] = tuple
    """The numbers of which whole tensors consist."""
    follows: bool = False
    """Whether a copy of a constant among ``values`` is taken for what the constant stands for."""
    _known: dict[int, set[bytes]] = field(default_factory=dict)
    _singles: list[float] | None = None

    def may_compute(self, term: Term) -> bool:
        """Whether this side may compute an expression itself.

        It may if it has all the constants of the expression, in whatever order and shape. Single
        numbers such as 6 occur by chance: of an expression of them, it must compute a number
        nearby.
        """
        leaves = _leaves(term)
        if math.prod(term.shape) == 1 and all(math.prod(each.shape) == 1 for each in leaves):
            return self._computes_near(term)
        return all(_unordered(each.value()) in self._of_size(each.shape) for each in leaves)

    def has_another(self, value: Array, bound: Callable[[], Bounded | None], dtype: str) -> bool:
        """Whether this side has further numbers, besides its constants, that may cancel with these.

        ``value`` is a constant that stands for an expression with this bound. What is computed
        among constants or stored in a body fits the expression, in whatever order; of a single
        number, it is nearby, or a tensor repeats one that fits.
        """
        computed = [
            each for each in (*map(np.asarray, self.values.values()), *self.inside)
            if each.size == np.size(value) and each.dtype.kind == "f"
        ]  # fmt: skip
        single = np.size(value) == 1
        if not computed and not single:
            return False
        found = bound()
        if found is None:
            return True
        own, expected = (np.sort(np.asarray(x, np.float64), axis=None) for x in (value, found[0]))
        fits = float((found[1] + rounding(found[0], found[1], dtype)).max(initial=0.0))
        near = LEAST_SIGNIFICANCE * float(np.abs(expected).max(initial=0.0))
        for each in computed:
            ordered = np.sort(np.asarray(each, np.float64), axis=None)
            if self.follows and np.array_equal(ordered, own):
                continue
            if not np.abs(ordered - expected).max(initial=0.0) > (near if single else fits):
                return True
        return single and any(abs(x - float(expected[0])) <= fits for x in self.repeated())

    def _of_size(self, shape: tuple[int, ...]) -> set[bytes]:
        size = math.prod(shape)
        if size not in self._known:
            found = [
                self.read(name)
                for name, each in self.constants.items()
                if math.prod(each.shape) == size and each.dtype in FLOATS
            ]
            found += [
                each for each in map(np.asarray, self.values.values())
                if each.size == size and each.dtype.kind == "f"
            ]  # fmt: skip
            found += [each for each in self.inside if each.size == size]
            self._known[size] = {_unordered(each) for each in found if each is not None}
        return self._known[size]

    def _computes_near(self, term: Term) -> bool:
        bound = bounded(term, {})
        if bound is None:
            return True
        number = float(bound[0].reshape(()))
        if self._singles is None:
            self._singles = list(_single_expressions(self.terms()))
        near = LEAST_SIGNIFICANCE * abs(number)
        return any(math.isnan(each) or abs(each - number) <= near for each in self._singles)


def repeated_numbers(
    constants: Mapping[str, Constant],
    read: Callable[[str], Array | None],
    values: Mapping[str, Array],
) -> tuple[float, ...]:
    """The numbers of which whole tensors of floats consist, stored or computed."""
    stored = (
        read(name)
        for name, each in constants.items()
        if each.dtype in FLOATS and math.prod(each.shape) > 1
    )
    found: dict[float, None] = {}
    for each in (*stored, *map(np.asarray, values.values())):
        if each is not None and each.size > 1 and each.dtype.kind == "f":
            flat = each.reshape(-1)
            first = flat[0]
            # Most tensors tell by few of their elements.
            if bool((flat[:_FEW] == first).all()) and bool((flat == first).all()):
                found[float(first)] = None
    return tuple(found)


def _single_expressions(terms: Iterable[Term]) -> Iterable[float]:
    """The single numbers that terms compute among constants; NaN for one that is not known."""
    seen: set[int] = set()
    known: dict[int, Bounded | None] = {}
    stack = list(terms)
    while stack:
        at = stack.pop()
        if at.id in seen:
            continue
        seen.add(at.id)
        stack += at.inputs
        if at.static and at.op != "constant" and at.is_float and math.prod(at.shape) == 1:
            bound = bounded(at, known)
            yield math.nan if bound is None else float(bound[0].reshape(()))


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
