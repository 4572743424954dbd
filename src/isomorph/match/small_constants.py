"""Constants of few elements, which their values do not identify: scales, thresholds, slopes.

Each use of such a constant is compared with the uses in the other graph: equal values at operators
of the same kind cancel out. What is left on both sides may be one constant that was changed. This
is a guess and decides nothing by itself: the outputs must differ on some input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import RANKED_PAIRS, UNPAIRED_USES
from isomorph.core.ops import KEEPS_NUMBERS
from isomorph.core.stated_numbers import FEW_ELEMENTS
from isomorph.match.element_bounds import Elements, Source, compare_elements
from isomorph.match.quantizers import float_operator

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, WeightReader, Weights

_MIRRORED = {"Less": "Greater", "LessOrEqual": "GreaterOrEqual"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedConstant:
    """A constant of the candidate and the constant of the reference that it may come from."""

    weight: StoredWeight
    source: StoredWeight
    expected: Array = field(repr=False)
    elements: Elements
    actual: Array = field(repr=False)
    inside: bool = False
    """Whether it is in a body, where its value cannot be replaced."""
    certain: bool = False
    """Whether nothing else is different between the two graphs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Use:
    """One operator that reads a constant; ``place`` is its position in the graph, from 0 to 1."""

    weight: StoredWeight
    value: Array = field(repr=False)
    kind: tuple[str, ...]
    place: float


def changed_constants(reference: Weights, candidate: Weights) -> list[ChangedConstant]:
    """Return every small constant that has no equal, with its most likely counterpart."""
    found: dict[str, ChangedConstant] = {}
    for size in range(1, FEW_ELEMENTS + 1):
        left = _canceled(list(_uses(candidate, size)), list(_uses(reference, size)))
        for use, other in _paired(*left):
            if use.weight.name not in found:
                elements = _compared(use, other)
                expected = other.value.reshape(use.weight.shape)
                found[use.weight.name] = ChangedConstant(
                    weight=use.weight,
                    source=other.weight,
                    expected=expected,
                    elements=elements,
                    actual=use.value.reshape(use.weight.shape),
                )
    return list(found.values())


def _uses(side: Weights, size: int) -> Iterator[_Use]:
    places = {node.name: place for place, node in enumerate(side.graph.nodes)}
    for weight in (*side.stored.values(), *side.scalars.values()):
        if weight.size != size or weight.grid is not None:
            continue
        value = side.real(weight)
        if value is not None:
            for reader in weight.readers:
                yield _Use(
                    weight=weight,
                    value=value.ravel(),
                    kind=kind_of(reader),
                    place=places[reader.node.name] / len(places),
                )


def kind_of(reader: WeightReader) -> tuple[str, ...]:
    """Return the operator that uses a constant, and the operators between the two."""
    op = float_operator(reader.node.op)
    between = (each for each in reader.between if each not in KEEPS_NUMBERS)
    return _MIRRORED.get(op, op), *between


def _canceled(uses: list[_Use], others: list[_Use]) -> tuple[list[_Use], list[_Use]]:
    """Return what is left on each side without uses of one kind that have equal elements.

    Of several equal ones the nearest cancel out: a constant that became zero is not the zero that
    another node adds.
    """
    left, free = _without_nearest(uses, others)
    open_ones = []
    for use in left:
        equal = [e for e in free if e.kind == use.kind and _compared(use, e).equal]
        partner = min(equal, key=lambda each: _apart(use, each), default=None)
        if partner is None:
            open_ones.append(use)
        else:
            free.remove(partner)
    return open_ones, free


def _without_nearest(uses: list[_Use], others: list[_Use]) -> tuple[list[_Use], list[_Use]]:
    """Cancel uses of one kind with the same numbers, the nearest first."""
    groups: dict[tuple[object, ...], tuple[list[_Use], list[_Use]]] = {}
    for side, found in enumerate((uses, others)):
        for use in found:
            key = use.kind, np.asarray(use.value, np.float64).tobytes()
            groups.setdefault(key, ([], []))[side].append(use)
    gone: set[int] = set()
    for here, there in groups.values():
        if len(here) * len(there) > RANKED_PAIRS:
            pairs = list(zip(here, there, strict=False))
        else:
            pairs = sorted(((one, two) for one in here for two in there), key=lambda e: _apart(*e))
        for one, two in pairs:
            if id(one) not in gone and id(two) not in gone:
                gone |= {id(one), id(two)}
    return [e for e in uses if id(e) not in gone], [e for e in others if id(e) not in gone]


def _apart(use: _Use, other: _Use) -> tuple[bool, float]:
    """Return how far two uses are from being the same: by name, then by position."""
    return use.weight.name != other.weight.name, abs(use.place - other.place)


def _compared(use: _Use, other: _Use) -> Elements:
    elements = compare_elements(
        other.value, use.value, use.weight, Source(dtype=other.weight.dtype)
    )
    beyond = elements.beyond.reshape(use.weight.shape)
    return replace(elements, beyond=beyond, between=elements.between.reshape(use.weight.shape))


def _paired(left: Iterable[_Use], free: Iterable[_Use]) -> Iterator[tuple[_Use, _Use]]:
    """Pair uses of one kind in their order; then the only ones left, whatever their kind."""
    uses, others = _by_kind(left), _by_kind(free)
    unpaired: tuple[list[_Use], list[_Use]] = ([], [])
    for kind in {**uses, **others}:
        here, there = list(uses.get(kind, ())), list(others.get(kind, ()))
        if max(len(here), len(there)) > UNPAIRED_USES.most:
            # So many are a rewrite rather than changed constants; with some on both sides, the
            # question stays open.
            if here and there:
                UNPAIRED_USES.reached()
            continue
        while here and there:
            use, other = min(
                ((one, two) for one in here for two in there),
                key=lambda each: _apart(*each),
            )
            here.remove(use)
            there.remove(other)
            yield use, other
        unpaired[0].extend(here)
        unpaired[1].extend(there)
    if (
        len(unpaired[0]) == len(unpaired[1]) == 1
        and not _compared(unpaired[0][0], unpaired[1][0]).equal
    ):
        yield unpaired[0][0], unpaired[1][0]


def _by_kind(uses: Iterable[_Use]) -> Mapping[tuple[str, ...], list[_Use]]:
    found: dict[tuple[str, ...], list[_Use]] = {}
    for use in uses:
        found.setdefault(use.kind, []).append(use)
    return found
