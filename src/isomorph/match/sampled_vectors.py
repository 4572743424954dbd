"""Samples of the reference's vectors, so that those unlike a weight are not read again for it.

A network has many biases, means and variances of one size, and each vector of the candidate may
have been made from any of them: all are compared at once by the elements that are compared first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.arranged_weights import sample_agrees, sample_spots
from isomorph.match.element_bounds import Source

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights


class SampledVectors:
    """The sampled elements of the vectors of one graph, each read once."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._samples: dict[str, Array | None] = {}

    def unlike(
        self, weight: StoredWeight, actual: Array, sources: Sequence[StoredWeight]
    ) -> frozenset[str]:
        """Return the names of those of the sources whose sample does not agree with ``actual``.

        Only vectors are compared: of others, every arrangement would have to be sampled.
        """
        if actual.ndim != 1 or weight.grid is not None:
            return frozenset()
        by_type: dict[str, list[str]] = {}
        for source in sources:
            if source.grid is None and self._sample(source, actual.shape) is not None:
                by_type.setdefault(source.dtype, []).append(source.name)
        found: set[str] = set()
        seen = actual[sample_spots(actual.shape)]
        for dtype, names in by_type.items():
            samples = np.array([self._samples[name] for name in names])
            agree = sample_agrees(samples, seen, weight, Source(dtype=dtype))
            found.update(name for name, like in zip(names, agree, strict=True) if not like)
        return frozenset(found)

    def _sample(self, source: StoredWeight, shape: tuple[int, ...]) -> Array | None:
        if source.name not in self._samples:
            value = self._weights.numbers(source) if source.shape == shape else None
            self._samples[source.name] = (
                None if value is None else np.asarray(value[sample_spots(shape)], np.float64)
            )
        return self._samples[source.name]
