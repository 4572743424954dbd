"""The numbers of the reference that packed weights were rounded from.

Only a fair rounding has an origin: every number is within half a step of the reference's, and no
step is coarser than that of a quantizer between the smallest and the largest number of its block,
or of one that is symmetric about zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import UNROUNDED_NUMBERS
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.blocked_differences import compare_blocked
from isomorph.match.blocked_weights import BlockedWeight, blocked_weights
from isomorph.match.element_bounds import Source
from isomorph.match.misread_weights import misread
from isomorph.match.packed_readers import packed_readers
from isomorph.match.rounded_weights import same_in_float32
from isomorph.match.value_match import weight_arrangements
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedOrigins:
    """The reference's numbers, by the tensor that takes them, and those tensors without any."""

    found: Mapping[str, Array] = field(default_factory=dict, repr=False)
    missing: frozenset[str] = frozenset()
    misread: frozenset[str] = frozenset()
    """Tensors of weights that are the reference's in another reading; they have what is read."""


def blocked_origins(reference: Weights, candidate: Weights) -> PackedOrigins | None:
    """Return what the packed weights of products were rounded from.

    A weight has none where its rounding is not fair, or where it may be that of two weights. One
    that is read wrongly has those numbers that the wrong reading makes of the reference's. None
    where more is narrow than packed weights, or where they are too large to be kept.
    """
    packed = set(packed_readers(candidate.graph).values())
    found: dict[str, Array] = {}
    sources = _sources(reference) if packed else {}
    misread_ones: set[str] = set()
    kept = 0
    for blocked in blocked_weights(candidate) if packed else ():
        name = blocked.fed
        kept += blocked.weight.size if name in packed else 0
        if kept > UNROUNDED_NUMBERS:
            return None
        same_size = sources.get(blocked.weight.size, ())
        origin = _origin(blocked, reference, same_size) if name in packed else None
        if origin is None and name in packed:
            origin = _as_read(blocked, reference, same_size)
            misread_ones |= set() if origin is None else {name}
        if origin is not None:
            found[name] = blocked.as_fed(origin)
    return PackedOrigins(
        found=found, missing=frozenset(packed) - found.keys(), misread=frozenset(misread_ones)
    )


def _as_read(
    blocked: BlockedWeight, side: Weights, sources: Sequence[StoredWeight]
) -> Array | None:
    """The numbers of a weight that is read wrongly: it is the reference's in another reading.

    What is wrong with it is then all that its node differs by, and no rounding hides it.
    """
    values = [side.real(source) for source in sources]
    arranged = [
        each
        for value in values
        if value is not None and value.ndim > 1
        for each in weight_arrangements(value, blocked.integers.shape)
    ]
    reading = misread(blocked, arranged)
    return None if reading is None or not reading.certain else reading.unrounded


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
    largest = blocked.over_blocks(np.maximum, np.abs(expected))
    limit = largest / last * (1.0 + OPERATION_ROUNDINGS * unit_roundoff(_scale_dtype(blocked)))
    return bool(np.all((blocked.sizes <= limit) | (largest == 0.0)))


def _scale_dtype(blocked: BlockedWeight) -> str:
    return blocked.scale_dtype if unit_roundoff(blocked.scale_dtype) else "float32"
