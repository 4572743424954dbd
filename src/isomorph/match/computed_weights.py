"""Weights of one graph that the other one computes from its constants: masked, normalized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import COMPUTED_ERROR
from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.element_bounds import Source, compare_elements

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import Weights


def computed_origins(reference: Weights, size: int) -> Iterator[tuple[str, Array, Source]]:
    """Yield what the reference computes from its constants alone, of this size."""
    for name in reference.computed:
        actual = reference.value(name) if reference.plainly_computed(name) else None
        if actual is not None and actual.size == size and actual.dtype.kind == "f":
            value = np.asarray(actual, np.float64)
            largest = float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value)))
            lost = 0.0 if reference.only_moved(name) else COMPUTED_ERROR * largest
            yield name, value, Source(dtype="float32", half_step=lost)


def is_computed(reference: Weights, candidate: Weights, name: str) -> bool:
    """Whether the reference computes the values of this weight of the candidate."""
    weight = candidate.stored[name]
    actual = candidate.real(weight)
    if actual is None:
        return False
    integers = candidate.value(name) if weight.grid is not None else None
    for tensor in reference.computed:
        value = reference.value(tensor)
        if value is None or value.size != weight.size or value.dtype.kind != "f":
            continue
        source = Source(dtype="float32")
        for expected, terms in agreeing_arrangements(
            np.asarray(value, np.float64), actual, weight, source
        ):
            if compare_elements(expected, actual, weight, terms, integers).equal:
                return True
    return False
