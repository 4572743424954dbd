"""A weight that is known by being the only one without an equal.

A graph may be rewritten anywhere. Where each side is left with one weight that the other does not
hold, both of the same shape and read by the same operator in the same way, one was made from the
other. Whether both nodes read the same data has to be tried by running them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.body_constants import left_over
from isomorph.match.element_bounds import Source, compare_elements
from isomorph.match.folded_weights import LINEAR
from isomorph.match.structural_constants import (
    Isolation,
    PlacedConstant,
    beyond_recomputation,
    was_rounded,
)

if TYPE_CHECKING:
    from isomorph.match.stored_weights import Weights

_WEIGHT_OPERATORS = LINEAR | {"Gather"}
"""Operators whose constant is a weight: another one makes another function of the data."""


def sole_counterpart(reference: Weights, candidate: Weights) -> PlacedConstant | None:
    """Return the only weight without an equal, with the only one of the reference that has none."""
    left, free = left_over(reference, candidate)
    if len(left) != 1 or len(free) != 1 or left[0].inside or free[0].inside:
        return None
    weight, source = left[0].weight, free[0].weight
    if left[0].kind != free[0].kind or left[0].kind[0] not in _WEIGHT_OPERATORS:
        return None
    if (weight.shape, weight.dtype) != (source.shape, source.dtype):
        return None
    if len(weight.readers) != 1 or len(source.readers) != 1:
        return None
    actual, expected = candidate.real(weight), reference.real(source)
    if actual is None or expected is None:
        return None
    terms = Source(dtype=source.dtype)
    elements = compare_elements(expected, actual, weight, terms)
    if elements.equal or np.array_equal(np.sort(expected, axis=None), np.sort(actual, axis=None)):
        return None  # the same numbers in another order may be read in another order
    found = PlacedConstant(
        weight=weight, source=source, expected=expected, actual=actual, elements=elements,
        isolation=Isolation.UNKNOWN,
    )  # fmt: skip
    rounded = was_rounded(expected, actual, weight, terms)
    return None if rounded or not beyond_recomputation(found) else found
