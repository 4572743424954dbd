"""The numbers of the reference that packed weights were rounded from.

Only a fair rounding has an origin: every number is within half a step of the reference's, and no
step is coarser than that of a quantizer between the smallest and the largest number of its block,
or of one that is symmetric about zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import UNROUNDED_NUMBERS
from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.blocked_weights import BlockedWeight, blocked_weights, compare_blocked
from isomorph.match.element_bounds import Source
from isomorph.match.rounded_weights import same_in_float32
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights

PRODUCT = "MatMulNBits"
"""The operator whose packed weights a run multiplies as the real numbers that they stand for."""


def only_stored_packed(side: Weights) -> tuple[str, ...] | None:
    """Name the packed weights of a graph; None where a product quantizes its other factor."""
    found = []
    for node in side.graph.nodes:
        if node.op == PRODUCT:
            if int(node.attributes.get("accuracy_level", 0) or 0) == 4:
                return None
            found.append(node.inputs[1])
    return tuple(found)


def blocked_origins(reference: Weights, candidate: Weights) -> Mapping[str, Array] | None:
    """Return the reference's numbers for every packed weight of a product, by its name.

    None where one has no origin, or more than one: then it is not known what was rounded.
    """
    found: dict[str, Array] = {}
    packed = only_stored_packed(candidate)
    if not packed:
        return {} if packed is not None else None
    sources = _sources(reference)
    kept = 0
    for blocked in blocked_weights(candidate):
        name = blocked.weight.name
        if name not in packed:
            continue
        kept += blocked.weight.size
        if kept > UNROUNDED_NUMBERS:
            return None
        origin = _origin(blocked, reference, sources.get(blocked.weight.size, ()))
        if origin is None:
            return None
        found[name] = origin
    return found if found.keys() >= set(packed) else None


def _sources(side: Weights) -> Mapping[int, list[StoredWeight]]:
    """The float weights of a graph by size."""
    found: dict[int, list[StoredWeight]] = {}
    for weight in side.stored.values():
        if weight.grid is None and weight.direct:
            found.setdefault(weight.size, []).append(weight)
    return found


def _origin(blocked: BlockedWeight, side: Weights, sources: Sequence[StoredWeight]) -> Array | None:
    """Return the only numbers of which a weight is a fair rounding, in its arrangement."""
    actual, found = blocked.real, None
    half = 0.5 * float(np.max(blocked.sizes, initial=0.0))
    for source in sources:
        value = side.real(source)
        if value is None:
            continue
        terms = Source(dtype=source.dtype, half_step=half)
        for expected, _ in agreeing_arrangements(value, actual, blocked.weight, terms):
            seen = compare_blocked(blocked, expected, actual, Source(dtype=source.dtype), 0.0)
            if not seen.equal or not _fine_enough(blocked, expected):
                continue
            if found is not None and not same_in_float32(found, expected):
                return None
            found = expected
    return found


def _fine_enough(blocked: BlockedWeight, expected: Array) -> bool:
    """Whether no step is coarser than that of a symmetric quantizer of the block's numbers.

    Its largest number is the last step of one side; a quantizer between the smallest and the
    largest number, zero included, has finer steps. Numbers that no step moves need none.
    """
    low, high = blocked.ends
    last = max((high - low + 1) // 2 - 1, 1)
    largest = _per_block(np.abs(expected), blocked)
    limit = largest / last * (1.0 + 4.0 * unit_roundoff(_scale_dtype(blocked)))
    return bool(np.all((blocked.sizes <= limit) | (largest == 0.0)))


def _scale_dtype(blocked: BlockedWeight) -> str:
    return blocked.scale_dtype if unit_roundoff(blocked.scale_dtype) else "float32"


def _per_block(sizes: Array, blocked: BlockedWeight) -> Array:
    """The largest number of each block, at each of its elements."""
    starts = np.arange(0, sizes.shape[1], blocked.block)
    largest = np.maximum.reduceat(sizes, starts, axis=1)
    return np.repeat(largest, blocked.block, axis=1)[:, : sizes.shape[1]]
