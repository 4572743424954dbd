"""Constants of a narrow float type that end at its largest number, where the reference's go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.diagnose import node_constants
from isomorph.match.rounded_weights import is_narrow, narrowed
from isomorph.match.value_match import weight_arrangements
from isomorph.measure.distance import float_info

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class CutConstant:
    """A constant of the candidate, its type, and the largest of the numbers that it was to hold."""

    name: str
    dtype: str
    limit: float
    largest: float
    count: int


def cut_constants(context: FaultContext) -> Iterator[CutConstant]:
    """Every constant of the fault that is the reference's but for what its type cannot hold."""
    for name in node_constants.floats(context.candidate, context.nodes):
        dtype = context.candidate.constants[name].dtype
        stored = context.constant(context.candidate, name) if is_narrow(dtype) else None
        if stored is None:
            continue
        limit = float(float_info(dtype).max)
        if not np.any(np.abs(stored) >= limit):
            continue
        found = _cut_from(context, name, np.asarray(stored, np.float64), dtype, limit)
        if found is not None:
            yield found


def _cut_from(
    context: FaultContext, name: str, stored: Array, dtype: str, limit: float
) -> CutConstant | None:
    for _, right in node_constants.constants_of_equal_size(context, name):
        for value in weight_arrangements(right, stored.shape):
            wide = np.asarray(value, np.float64)
            beyond = np.abs(wide) > limit
            if not beyond.any() or not np.all(np.abs(stored[beyond]) >= limit):
                continue
            if not np.array_equal(np.sign(stored[beyond]), np.sign(wide[beyond])):
                continue
            if np.array_equal(narrowed(wide[~beyond], dtype), stored[~beyond]):
                count = int(np.count_nonzero(beyond))
                largest = float(np.max(np.abs(wide)))
                return CutConstant(
                    name=name, dtype=dtype, limit=limit, largest=largest, count=count
                )
    return None
