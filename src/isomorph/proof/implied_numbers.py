"""Numbers that a composite operator implies and that a file may state: 1/sqrt(d), 1/sqrt(2).

A file that spells the operator out states them rounded. Where the other side states such a
rounded number, the operator is taken with that one, and the proof assumes them equal up to the
rounding. Nothing is replaced on a side that states the number itself: two numbers of one side
are never made equal. A number that an operator states where it may imply it, such as the scale of
an attention, is an implied one: conversions divide it between the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.oracle.noise import UNIT_ROUNDOFF
from isomorph.proof.bodies import inner_graphs

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.proof.term import Term
    from isomorph.proof.terms import Terms

_SINGLE = frozenset({(), (1,), (1, 1), (1, 1, 1), (1, 1, 1, 1)})
"""The shapes of a single number."""

_UNIT = UNIT_ROUNDOFF["float32"]
"""One rounding to float32, the narrowest type in which exporters write such numbers."""

_STEPS = ("root", "quotient", "root of the quotient", "storing")
"""What the longest of these numbers, the root of 1/sqrt(d) by which attention scales queries and
keys alike, is computed by: each step rounds once, and no step enlarges the roundings before it."""

_ERROR = (1.0 + _UNIT) ** len(_STEPS) - 1.0
"""How far a stated number may be off the real one."""


@dataclass(slots=True)
class ImpliedNumbers:
    """The single numbers that each side states; ``own`` are those of the side being spelled."""

    own: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    repeated: Callable[[], Iterable[float]] = tuple
    """The numbers of which whole tensors of the own side consist."""
    largest_rounding: float = 0.0
    assumed: dict[float, float] = field(default_factory=dict)

    def term(self, terms: Terms, number: float, dtype: str) -> Term:
        """The number as the other side states it, or else rounded to the operator's type."""
        for form, found in self._forms(self.other, number):
            if self._states(number) or self._taken(number, found):
                break
            self.assumed[number] = found
            error = abs(_FORMS[form].number(found) / number - 1.0)
            self.largest_rounding = max(self.largest_rounding, error)
            made = terms.number(found, dtype)
            if form == "square":
                return terms.mul(made, made)
            return terms.inverse(made) if form == "inverse" else made
        return terms.number(number, dtype)

    def _states(self, number: float) -> bool:
        """Whether the own side states the number as well."""
        return any(
            True for stated in (self.own, self.repeated()) for _ in self._forms(stated, number)
        )

    def _taken(self, number: float, found: float) -> bool:
        """Whether another number is taken as this one: two of one side would become equal."""
        return any(each != number and taken == found for each, taken in self.assumed.items())

    def _forms(self, stated: Iterable[float], number: float) -> Iterable[tuple[str, float]]:
        for form, how in _FORMS.items():
            for each in stated:
                if each > 0 and abs(how.number(each) - number) <= how.error * number:
                    yield form, each


@dataclass(frozen=True, slots=True)
class _Form:
    """A function of a stated number, and how far it is off where the number is off by _ERROR."""

    number: Callable[[float], float]
    error: float


_FORMS: Mapping[str, _Form] = {
    "itself": _Form(lambda c: c, _ERROR),
    "square": _Form(lambda c: c * c, (1.0 + _ERROR) ** 2 - 1.0),
    "inverse": _Form(lambda c: 1.0 / c, 1.0 / (1.0 - _ERROR) - 1.0),
}
"""How a stated number gives the implied one."""


def rounded(number: float) -> float:
    """The number as float32 holds it."""
    return float(np.float32(number))


def single_numbers(
    graph: Graph,
    values: Mapping[str, Array],
    without: frozenset[tuple[str, str]] = frozenset(),
) -> Iterator[float]:
    """The single numbers that a graph states, but for these attributes of these operators."""
    nodes = [(node, inner) for inner in inner_graphs(graph) for node in inner.nodes]
    for node, inner in nodes:
        if all(name in values for name in node.outputs if name):
            continue
        for name, each in node.attributes.items():
            if isinstance(each, float) and (node.native_op, name) not in without:
                yield rounded(each)
        for name in node.inputs:
            constant = inner.constants.get(name) or graph.constants.get(name)
            value = values.get(name)
            if value is not None and value.size == 1 and value.dtype.kind == "f":
                yield rounded(float(value.reshape(())))
            elif constant is not None and "float" in constant.dtype:
                yield from map(float, (constant.values or ()) if constant.shape in _SINGLE else ())
