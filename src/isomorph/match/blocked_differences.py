"""Weights in blocks beside those of the reference: which differ, and in which numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.blocked_weights import BlockedWeight, Store, blocked_weights
from isomorph.match.element_bounds import Elements, Source, compare_elements, grid_steps
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedDifference:
    """A weight in blocks beside the one of the reference that it differs from in few numbers."""

    weight: StoredWeight
    source: StoredWeight
    expected: Array = field(repr=False)
    actual: Array = field(repr=False)
    elements: Elements
    store: Store = field(repr=False)


def blocked_differences(reference: Weights, candidate: Weights) -> Iterator[BlockedDifference]:
    """Every weight in blocks that is wrong in few numbers, with what it was made from."""
    sources: Mapping[int, list[tuple[StoredWeight, Array, Array]]] | None = None
    for blocked in blocked_weights(candidate):
        if sources is None:
            sources = _sources(reference)
        found = _nearest(blocked, sources.get(blocked.weight.size, ()))
        if found is not None:
            yield found


def _sources(side: Weights) -> Mapping[int, list[tuple[StoredWeight, Array, Array]]]:
    """The weights of a graph by size: each with its numbers and the step at each of them."""
    found: dict[int, list[tuple[StoredWeight, Array, Array]]] = {}
    for blocked in blocked_weights(side):
        held = blocked.weight, blocked.real, blocked.sizes
        found.setdefault(blocked.weight.size, []).append(held)
    for weight in side.stored.values():
        value = side.real(weight) if weight.direct else None
        if value is not None:
            step = grid_steps(weight.grid, weight.shape) if weight.grid is not None else 0.0
            steps = np.broadcast_to(step, value.shape)
            found.setdefault(weight.size, []).append((weight, value, steps))
    return found


def _nearest(
    blocked: BlockedWeight, sources: Sequence[tuple[StoredWeight, Array, Array]]
) -> BlockedDifference | None:
    """The source from which fewest numbers differ; None where one explains all of them."""
    weight, actual = blocked.weight, blocked.real
    widest = 0.5 * float(np.max(blocked.sizes, initial=0.0))
    best: BlockedDifference | None = None
    for source, value, steps in sources:
        half = 0.5 * float(np.max(steps, initial=0.0)) + widest
        # The steps are arranged as the numbers are, in the place of their error.
        terms = Source(dtype=source.dtype, half_step=half, error_bound=steps)
        for expected, placed in agreeing_arrangements(value, actual, weight, terms):
            own = Source(dtype=source.dtype)
            seen = compare_blocked(blocked, expected, actual, own, placed.error_bound)
            if seen.equal:
                return None
            if not seen.sparse or seen.informative <= seen.count:
                continue
            if best is None or seen.count < best.elements.count:
                best = BlockedDifference(
                    weight=weight, source=source, expected=expected, actual=actual, elements=seen,
                    store=blocked.store,
                )  # fmt: skip
    return best


def compare_blocked(
    blocked: BlockedWeight, expected: Array, actual: Array, source: Source, step: Array | float
) -> Elements:
    """Compare a weight in blocks element by element with what it was made from.

    A quantizer stores clip(rint(x/s) + z, low, high): it moves a number by half a step, at the ends
    of a block as elsewhere, unless the end cuts it off. A scale that is rounded afterwards moves it
    by its rounding. So did the source's, whose step is ``step``.
    """
    steps = np.broadcast_to(step, actual.shape)
    with np.errstate(all="ignore"):
        apart = np.abs(expected - actual) > unit_roundoff("float32") * np.abs(expected)
    # Where most numbers are exactly the source's, its grid was kept, and none was rounded again.
    # In blocks of another size, that holds only for those that have the source's step.
    on_grid = steps > 0.0
    if not _same_blocks(blocked.sizes, steps):
        with np.errstate(all="ignore"):
            on_grid &= np.abs(blocked.sizes - steps) <= unit_roundoff("float32") * steps
    if 2 * int(np.count_nonzero(apart & on_grid)) >= int(np.count_nonzero(on_grid)):
        on_grid = np.zeros(actual.shape, bool)
    reach = blocked.scale_error + np.where(on_grid, 0.0, 0.5 * (blocked.sizes + steps))
    seen = compare_elements(expected, actual, blocked.weight, replace(source, error_bound=reach))
    aside = _cut_off(blocked, expected - actual)
    return replace(seen, beyond=seen.beyond & ~aside, between=seen.between & ~aside)


def _same_blocks(one: Array, two: Array) -> bool:
    """Whether the steps of two grids change at the same places."""
    return all(
        np.array_equal(np.diff(one, axis=axis) != 0.0, np.diff(two, axis=axis) != 0.0)
        for axis in range(one.ndim)
    )


def _cut_off(blocked: BlockedWeight, error: Array) -> Array:
    """Mark the numbers that lie beyond the end of their block, which stores the end instead."""
    low, high = blocked.ends
    with np.errstate(all="ignore"):
        outward = error * np.sign(blocked.steps)
        above = (blocked.integers == high) & (outward > 0.0)
        below = (blocked.integers == low) & (outward < 0.0)
    return np.asarray(above | below)
