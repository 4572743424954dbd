"""Weights of one graph that the other one computes from its constants: masked, normalized."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.element_bounds import Source, compare_elements

if TYPE_CHECKING:
    from isomorph.match.stored_weights import Weights


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
