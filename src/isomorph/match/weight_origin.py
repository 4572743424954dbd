"""Find the float weight of the reference that a quantized weight was made from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import ORIGIN_WEIGHTS, noted_limits
from isomorph.core.stated_numbers import ALIKE_COSINE, CERTAIN_COSINE, OUTERMOST_ELEMENTS
from isomorph.match.folded_scales import folded_kernels
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array


class FloatWeights:
    """The float constants of a reference, each read once for its largest elements."""

    def __init__(self, graph: Graph, read: Callable[[str], Array | None]) -> None:
        self._graph, self._read = graph, read
        self._outermost: dict[str, Array] = {}

    def of(self, real: Array, name: str) -> Array | None:
        """Return the float values of ``real`` in its arrangement; None if nothing is similar."""
        with noted_limits() as hit:
            found = self._closest(real, name)
        for limit in hit if found is None else ():
            limit.reached()
        return found

    def _closest(self, real: Array, name: str) -> Array | None:
        best, found = ALIKE_COSINE, None
        stored = self._candidates(real, name)
        for value in chain(stored, folded_kernels(real.size, self._graph, self._read)):
            for moved in rearrangements(value, real.shape):
                seen = np.asarray(moved.array(value), np.float64)
                if (likeness := _cosine(seen, real)) > best:
                    best, found = likeness, seen
            if best > CERTAIN_COSINE:
                break
        return found

    def _candidates(self, real: Array, name: str) -> Iterator[Array]:
        """Yield float constants of the same size, those with similar largest elements first."""
        same_size = [
            each.name
            for each in self._graph.constants.values()
            if "float" in each.dtype and int(np.prod(each.shape)) == real.size > 1
        ]
        if len(same_size) > ORIGIN_WEIGHTS.most:
            ORIGIN_WEIGHTS.reached()
            outermost = _outermost(real)
            same_size.sort(key=lambda other: float(np.abs(self._seen(other) - outermost).sum()))
        matcher = difflib.SequenceMatcher(b=name, autojunk=False)

        def likeness(other: str) -> float:
            matcher.set_seq1(other)
            return matcher.ratio()

        for other in sorted(same_size[: ORIGIN_WEIGHTS.most], key=likeness, reverse=True):
            if (value := self._read(other)) is not None:
                yield value

    def _seen(self, name: str) -> Array:
        if name not in self._outermost:
            value = self._read(name)
            self._outermost[name] = _outermost(np.zeros(1) if value is None else value)
        return self._outermost[name]


def _outermost(value: Array) -> Array:
    """Return the largest magnitudes relative to the largest: invariant to order and scale."""
    sizes = np.abs(np.asarray(value, np.float64)).ravel()
    kept = np.sort(np.partition(sizes, -min(OUTERMOST_ELEMENTS, sizes.size))[-OUTERMOST_ELEMENTS:])
    shares = np.zeros(OUTERMOST_ELEMENTS)
    if sizes.size and np.isfinite(kept[-1]) and kept[-1] > 0:
        shares[-kept.size :] = kept / kept[-1]
    return shares


def _cosine(left: Array, right: Array) -> float:
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.vdot(left, right)) / size if size > 0 and np.isfinite(size) else 0.0
