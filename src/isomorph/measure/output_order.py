"""Pair outputs that are bound by position only, in the order of closest values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.model import Model, OutputOrder
from isomorph.core.report import Binding, BoundBy
from isomorph.measure.sample_stats import relative_error

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.measure.comparand import Comparand

Flat = Mapping[str, "Array"]
"""Outputs by name; an element of a sequence or a map under its path."""


def unordered(*models: Model) -> bool:
    """Whether the outputs of one of these have no order that a caller could rely on."""
    return any(each.output_order is OutputOrder.UNORDERED for each in models)


def nearest(
    bindings: Sequence[Binding], reference: Flat, candidate: Flat, spare: Sequence[str] = ()
) -> tuple[Binding, ...]:
    """Pair the bindings by position again so that the values are closest in total.

    Other bindings do not change, and every output of the reference stays bound. ``spare`` outputs
    of the candidate may be used. Of equally close pairings the current one is kept.
    """
    places = [pair for pair in bindings if pair.how == BoundBy.POSITION]
    names = [*(pair.candidate for pair in places), *spare]
    if not places or len(names) < 2:
        return tuple(bindings)
    costs = np.array(
        [[_apart(pair.reference, name, reference, candidate) for name in names] for pair in places]
    )
    taken = {pair.reference: names[at] for pair, at in zip(places, _assigned(costs), strict=True)}
    return tuple(
        replace(pair, candidate=taken[pair.reference], how=BoundBy.VALUES)
        if pair.how == BoundBy.POSITION and taken[pair.reference] != pair.candidate
        else pair
        for pair in bindings
    )


def _apart(left: str, right: str, reference: Flat, candidate: Flat) -> float:
    """Return the distance of two outputs over all elements; infinite if they do not fit."""
    ref, cand = elements(left, reference), elements(right, candidate)
    if not ref or ref.keys() != cand.keys():
        return math.inf
    fit = all(ref[path].shape == cand[path].shape for path in ref)
    return sum(relative_error(cand[path], ref[path]) for path in ref) if fit else math.inf


def elements(name: str, values: Flat) -> dict[str, Array]:
    """Return the output under an empty path, or the elements of a sequence or a map."""
    if name in values:
        return {"": values[name]}
    found = {key.removeprefix(name): each for key, each in values.items() if key.startswith(name)}
    inside = ("[", ".keys", ".values")
    return {path: each for path, each in found.items() if path.startswith(inside)}


def _assigned(costs: Array) -> list[int]:
    """Return a distinct column for each row with the least total cost (Kuhn and Munkres).

    Infinite costs are replaced by more than the sum of all others, so as few as possible are used.
    """
    rows, columns = costs.shape
    finite = np.isfinite(costs)
    largest = float(np.max(costs[finite], initial=0.0))
    scaled = np.where(finite, costs / (largest or 1.0), float(2 * rows + 1))
    row_price, column_price = np.zeros(rows + 1), np.zeros(columns + 1)
    owner = np.zeros(columns + 1, int)  # the row of each column; row and column 0 are sentinels
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, came_from = np.full(columns + 1, np.inf), np.zeros(columns + 1, int)
        seen = np.zeros(columns + 1, bool)
        while owner[column]:
            seen[column] = True
            here = owner[column]
            slack = scaled[here - 1] - row_price[here] - column_price[1:]
            better = ~seen[1:] & (slack < least[1:])
            least[1:][better], came_from[1:][better] = slack[better], column
            ahead = np.where(seen, np.inf, least)
            ahead[0] = np.inf
            following = int(np.argmin(ahead))
            step = ahead[following]
            row_price[owner[seen]] += step
            column_price[seen] -= step
            least[~seen] -= step
            column = following
        while column:
            owner[column] = owner[came_from[column]]
            column = int(came_from[column])
    taken = {int(row) - 1: column for column, row in enumerate(owner[1:]) if row}
    chosen = [taken[row] for row in range(rows)]
    as_it_stands = list(range(rows))
    at = np.arange(rows)
    same = bool(np.sum(scaled[at, as_it_stands]) <= np.sum(scaled[at, chosen]))
    return as_it_stands if same else chosen


def element_pairs(
    reference: Comparand, candidate: Comparand, pair: Binding
) -> list[tuple[str, str]]:
    """Return the pair itself, or the pairs of elements of two sequences, optionals or maps."""
    left, right = _paths(reference, pair.reference), _paths(candidate, pair.candidate)
    # Two empty or absent outputs are one pair as well.
    paths = dict.fromkeys((*left, *right)) or [""]
    return [(f"{pair.reference}{path}", f"{pair.candidate}{path}") for path in paths]


def _paths(evaluated: Comparand, name: str) -> list[str]:
    """Return the paths below a name: empty for a tensor, ``[0]`` or ``.keys`` inside others."""
    # The oracle is not asked where the run suffices: both sides evaluate theirs at a time.
    for outputs in (evaluated.runtime_outputs, evaluated.oracle_outputs):
        seen = outputs()
        if not isinstance(seen, IsomorphError):
            return list(elements(name, seen))
    return [""]
