"""Split the arrays of one file into samples that a model accepts.

A file holds one feed, or many along a leading axis. An array with one axis more than its input
is many feeds; one with as many axes is cut along the first where that is longer than the
model's batch; one with an axis less is a single sample, and the batch axis is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import UsageError

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """How a file is split into feeds.

    ``batches`` has the rows per feed for each array that is cut, 0 for one whose first axis
    counts the feeds; other arrays go into every feed. ``left_over`` rows fill no batch: they are
    in one more feed, after as many of the rows before them as fill it.
    """

    count: int
    batches: Mapping[str, int]
    widened: frozenset[str]
    left_over: int = 0

    @property
    def feeds(self) -> int:
        """The number of feeds, including one with the rows left over."""
        filled = self.left_over and self.count and all(self.batches.values())
        return self.count + 1 if filled else self.count

    def feed(self, arrays: Mapping[str, Array], index: int) -> dict[str, Array]:
        """Return the arrays of one feed; only these are read from disk."""
        return {name: self._piece(name, array, index) for name, array in arrays.items()}

    def _piece(self, name: str, array: Array, index: int) -> Array:
        if name in self.batches:
            rows = self.batches[name]
            start = min(index * rows, max(array.shape[0] - rows, 0))
            part = array[start : start + rows] if rows else array[index]
            return np.asarray(part, order="C")
        return array[np.newaxis] if name in self.widened else array


def slices(
    specs: Sequence[TensorSpec],
    arrays: Mapping[str, Array],
    dims: Mapping[str, int],
    *,
    streamed: bool,
) -> Slices:
    """Derive the split from the signature; ``streamed`` splits dynamic batches too."""
    batches: dict[str, int] = {}
    widened = set()
    batch_axis = next((spec.shape[0] for spec in specs if spec.shape), None)
    for spec in specs:
        array = arrays.get(spec.name)
        if array is None or spec.shape is None:
            continue
        if array.ndim == len(spec.shape) + 1:
            batches[spec.name] = 0
        elif array.ndim == len(spec.shape) - 1 and spec.shape[0] in {1, None, batch_axis}:
            widened.add(spec.name)
        elif array.ndim == len(spec.shape) > 0:
            rows = spec.shape[0]
            if not isinstance(rows, int):
                same_axis = streamed and rows == batch_axis
                rows = dims.get(str(rows), 1) if same_axis else array.shape[0]
            if array.shape[0] > rows > 0 or (streamed and not array.shape[0]):
                batches[spec.name] = rows
    count, left_over = _count(arrays, batches)
    for name in set(arrays) - {spec.name for spec in specs}:
        # Arrays that are no inputs, such as labels, are split with their samples.
        rows = max(batches.values(), default=0)
        if batches and arrays[name].ndim and arrays[name].shape[0] // max(rows, 1) == count:
            batches[name] = rows
    return Slices(count=count, batches=batches, widened=frozenset(widened), left_over=left_over)


def for_both(
    reference: Sequence[TensorSpec], candidate: Sequence[TensorSpec], inputs: Sequence[Binding]
) -> tuple[TensorSpec, ...]:
    """Return the reference's inputs, with a free batch axis fixed as in the candidate."""
    taken = {spec.name: spec for spec in candidate}
    partner = {pair.reference: taken.get(pair.candidate) for pair in inputs}
    return tuple(_batched(spec, partner.get(spec.name)) for spec in reference)


def _batched(spec: TensorSpec, other: TensorSpec | None) -> TensorSpec:
    here, there = spec.shape, other.shape if other is not None else None
    if not here or not there or isinstance(here[0], int) or not isinstance(there[0], int):
        return spec
    # With its axes in another order, the first of them need not be the batch.
    same_axis = len(here) == len(there) and all(
        a == b
        for a, b in zip(here[1:], there[1:], strict=True)
        if isinstance(a, int) and isinstance(b, int)
    )
    return replace(spec, shape=(there[0], *here[1:])) if same_axis else spec


def _count(arrays: Mapping[str, Array], batches: Mapping[str, int]) -> tuple[int, int]:
    counts = {name: arrays[name].shape[0] // max(rows, 1) for name, rows in batches.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r} {count}" for name, count in counts.items())
        raise UsageError(
            "SAMPLES_DISAGREE", f"the arrays hold different numbers of samples: {listed}"
        )
    over = [arrays[name].shape[0] % rows for name, rows in batches.items() if rows]
    return next(iter(counts.values()), 1), max(over, default=0)
