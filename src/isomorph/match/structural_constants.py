"""Constants at the same position in two graphs of the same structure that hold other values.

Where both graphs have the same operators from the same inputs to the same outputs, the position of
a constant identifies its counterpart, whatever its values are. If it is the only one that differs,
nothing can compensate for it, and the graphs are two functions. If several differ, they may
compensate for each other (a scale that was moved from one weight to the next): then a constant
counts only if nothing before it differs, and no input changes what is computed with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import FEW_ELEMENTS
from isomorph.match.element_bounds import (
    Elements,
    Source,
    compare_elements,
    recomputation_error,
)
from isomorph.match.integer_roles import Role, role_of
from isomorph.match.rounded_weights import narrowed, steps_of
from isomorph.match.same_structure import same_structure
from isomorph.match.stated_blocks import in_blocks
from isomorph.match.stored_weights import one_grid, same_integers

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights

_NARROW = ("float16", "bfloat16")
_NO_EFFECT: Mapping[str, frozenset[int]] = {"Dropout": frozenset({1, 2}), "Resize": frozenset({1})}
"""Inputs that an operator does not use in inference."""
_LIMITS = frozenset(
    {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal", "Min", "Max", "Clip", "Where",
     "Pad", "PRelu", "NonMaxSuppression"}
)  # fmt: skip
"""Operators whose constant affects some data only, possibly none."""


class Isolation(StrEnum):
    """What else differs between two graphs of the same structure."""

    UNKNOWN = "unknown"
    """The structures differ, or a constant before this one does."""
    FIRST = "first"
    """Nothing before it differs; what follows may compensate for it."""
    ONLY = "only"
    """Nothing else differs."""
    ONLY_LIMIT = "only limit"
    """Nothing else differs, and it is a limit or a fill value that the data may never reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedConstant:
    """A constant of the candidate, the reference's at the same position, and their comparison."""

    weight: StoredWeight
    source: StoredWeight
    expected: Array = field(repr=False)
    actual: Array = field(repr=False)
    elements: Elements
    isolation: Isolation
    exact: bool = False
    """Whether both hold integers or strings of one type, which no conversion rounds."""


def placed_constants(reference: Weights, candidate: Weights) -> list[PlacedConstant]:
    """Return the constants that differ from the one at their position, if first or only."""
    pairs = same_structure(reference, candidate)
    if pairs is None:
        return []
    differing: dict[str, PlacedConstant | None] = {}
    for name, other in pairs.items():
        if _stored_alike(reference, candidate, name, other):
            continue
        compared = _compared(reference, candidate, name, other)
        if compared is None or compared.elements.count:
            differing[name] = compared
    first = _first(candidate, frozenset(differing))
    found = []
    for name, each in differing.items():
        if each is None or name not in first or not beyond_recomputation(each):
            continue
        limit = is_limit(each.weight)
        if len(differing) == 1:
            only = Isolation.ONLY_LIMIT if limit else Isolation.ONLY
            found.append(replace(each, isolation=only))
        elif not limit:
            found.append(replace(each, isolation=Isolation.FIRST))
    return found


def is_unused(weight: StoredWeight) -> bool:
    """Whether no reader of a constant uses it in inference."""
    return all(each.slot in _NO_EFFECT.get(each.node.op, ()) for each in weight.readers)


def is_limit(weight: StoredWeight) -> bool:
    """Whether a constant affects some data only, possibly none: a limit or a fill value."""
    return any(
        reader.node.op in _LIMITS and (reader.node.op, reader.slot) != ("Where", 0)
        for reader in weight.readers
    )


def _stored_alike(reference: Weights, candidate: Weights, name: str, other: str) -> bool:
    """Whether two constants are stored alike, and stand for the same real numbers.

    A scale that is a constant of the graph has its own counterpart.
    """
    if candidate.graph.constants[name].digest != reference.graph.constants[other].digest:
        return False
    weight, source = candidate.stored.get(name), reference.stored.get(other)
    if weight is None or source is None or candidate.grid_constants(name):
        return True
    return one_grid(weight, source)


def _compared(
    reference: Weights, candidate: Weights, name: str, other: str
) -> PlacedConstant | None:
    """Compare two constants; None where they cannot be compared element by element."""
    if in_blocks(candidate.graph, name) or in_blocks(reference.graph, other):
        return None  # their integers stand for numbers by scales that are compared elsewhere
    weight, source = _weight(candidate, name), _weight(reference, other)
    if weight is None or source is None:
        return None
    grown = _more_rows(weight, source)
    if grown is None and [n for n in weight.shape if n > 1] != [n for n in source.shape if n > 1]:
        return None
    if grown is None and _rounded_by_none(weight, source):
        return _exact(reference, candidate, weight, source)
    actual, expected = candidate.real(weight), reference.real(source)
    if actual is None or expected is None or actual.dtype.kind != "f":
        return None
    if grown is not None:
        rows = range(source.shape[grown], weight.shape[grown])
        expected = np.concatenate([expected, np.take(actual, rows, axis=grown)], axis=grown)
    expected = expected.reshape(weight.shape)
    rounded = source.grid is not None and not same_integers(weight, source)
    half = 0.5 * max(source.grid.scale) if source.grid is not None and rounded else 0.0
    terms = Source(dtype=source.dtype, half_step=half)
    integers = candidate.value(name) if weight.grid is not None else None
    elements = compare_elements(expected, actual, weight, terms, integers)
    if elements.count and was_rounded(expected, actual, weight, terms):
        elements = replace(elements, beyond=np.zeros(actual.shape, bool))
    return PlacedConstant(
        weight=weight, source=source, expected=expected, actual=actual, elements=elements,
        isolation=Isolation.UNKNOWN,
    )  # fmt: skip


def _more_rows(weight: StoredWeight, source: StoredWeight) -> int | None:
    """Return the axis along which a table got additional rows that nothing selected before."""
    if len(weight.shape) != len(source.shape):
        return None
    sizes = enumerate(zip(weight.shape, source.shape, strict=True))
    other = [(axis, new > old) for axis, (new, old) in sizes if new != old]
    if len(other) != 1 or not other[0][1]:
        return None
    axis, rank = other[0][0], len(weight.shape)
    for reader in (*weight.readers, *source.readers):
        along = int(reader.node.attributes.get("axis", 0) or 0) % rank
        if (reader.node.op, reader.slot, along) != ("Gather", 0, axis) or reader.between:
            return None
    return axis


def _rounded_by_none(weight: StoredWeight, source: StoredWeight) -> bool:
    """Whether both hold integers, booleans or strings that stand for the same numbers."""
    if "float" in weight.dtype or "float" in source.dtype:
        return False
    plain = weight.grid is None and source.grid is None
    return plain or (weight.dtype == source.dtype and one_grid(weight, source))


def _exact(
    reference: Weights, candidate: Weights, weight: StoredWeight, source: StoredWeight
) -> PlacedConstant | None:
    """Compare integers, booleans and strings, which no conversion rounds."""
    roles: set[Role] = set()
    if weight.grid is None:  # quantized integers stand for real numbers, whatever reads them
        roles = {role_of(candidate, weight.name), role_of(reference, source.name)}
    actual, expected = candidate.stored_array(weight.name), reference.stored_array(source.name)
    if Role.UNKNOWN in roles or actual is None or expected is None or actual.size != expected.size:
        return None
    actual, expected = actual.reshape(weight.shape), expected.reshape(weight.shape)
    beyond = np.asarray(actual != expected, bool)
    if Role.ROWS in roles and actual.dtype.kind in "iu":
        beyond &= (actual < 0) == (expected < 0)  # a row may be counted from the end
    real: tuple[Array | None, Array | None] = actual, expected
    if not {actual.dtype.kind, expected.dtype.kind} <= set("iub"):
        real = np.zeros(actual.shape), np.zeros(actual.shape)
    elif weight.grid is not None or not any(map(_exceeds_float64, (actual, expected))):
        real = candidate.real(weight), reference.real(source)
    if real[0] is None or real[1] is None:
        return None
    return PlacedConstant(
        weight=weight, source=source, expected=real[1].reshape(weight.shape), actual=real[0],
        elements=Elements(
            beyond=beyond,
            between=np.zeros(actual.shape, bool),
            informative=actual.size - int(beyond.sum()),
        ),
        isolation=Isolation.UNKNOWN, exact=True,
    )  # fmt: skip


def _exceeds_float64(values: Array) -> bool:
    """Whether float64 cannot tell some of these integers from their neighbors."""
    beyond = 2 ** (np.finfo(np.float64).nmant + 1)
    return values.dtype.kind in "iu" and bool(np.any((values > beyond) | (values < -beyond)))


def _weight(side: Weights, name: str) -> StoredWeight | None:
    found = side.constant(name)
    return None if found is None or is_unused(found) else found


def was_rounded(expected: Array, actual: Array, weight: StoredWeight, source: Source) -> bool:
    """Whether the values were rounded to a narrower type or quantized, and stored as before."""
    if weight.grid is not None:
        return False
    for dtype in _NARROW:
        if np.array_equal(narrowed(actual, dtype), actual, equal_nan=True):
            return compare_elements(expected, actual, weight, replace(source, dtype=dtype)).equal
    with np.errstate(all="ignore"):
        return any(bool(np.all(np.abs(expected - actual) <= steps)) for steps in steps_of(actual))


def beyond_recomputation(found: PlacedConstant) -> bool:
    """Whether the difference is larger than that of a table that was computed again."""
    if found.exact or found.elements.sparse or found.weight.size <= FEW_ELEMENTS:
        return True
    finite = np.abs(found.expected[np.isfinite(found.expected)])
    lost = recomputation_error(found.weight.shape) * float(np.max(finite, initial=0.0))
    terms = Source(dtype=found.source.dtype, half_step=lost)
    return not compare_elements(found.expected, found.actual, found.weight, terms).equal


def _first(side: Weights, differing: frozenset[str]) -> frozenset[str]:
    """Return the constants whose readers compute with none of the other differing ones."""
    none: frozenset[str] = frozenset()
    behind: dict[str, frozenset[str]] = {name: frozenset({name}) for name in differing}
    mixed: set[str] = set()
    for node in side.graph.nodes:
        if node.name not in side.useful:
            continue
        reads = side.topology.reads(node)
        here = none.union(*(behind.get(name, none) for name in reads))
        live = any(name in side.topology.live for name in reads)
        if live and len(here) > 1:
            for name in reads:
                if name not in side.topology.live:
                    mixed |= behind.get(name, none)
            here = frozenset(sorted(here)[:2])  # two are as good as all of them
        behind.update((name, here) for name in node.outputs if name)
    return differing - mixed
