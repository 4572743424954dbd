"""What one graph computes on one sample, tensor by tensor, and how far rounding moves each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.stages.align.fingerprint import FLOAT64_ORDER, Fingerprint, fingerprint
from isomorph.stages.align.remembered import Layered, Remembered, batches
from isomorph.stages.align.topology import Topology
from isomorph.stages.run.forecast import in_float64
from isomorph.stages.run.memory import usual_share

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise

DRAWS = 4
"""A root mean square over a whole tensor is steady after few draws."""

_HELD_AT_ONCE = DRAWS + 2
"""Of one batch: its values, its draws, and what is being computed."""

_FEWEST_UNSEEN = 4
"""A quarter of the elements: fewer are small by chance."""


class Sight:
    """One side: its graph, its oracle and the feeds.

    Without ``noise`` it is a run that is looked at, in a runtime: what it gives is what it is.
    Of each tensor a fingerprint is kept, and its values only as far as ``memory_bytes`` go: what
    does not fit is looked at batch by batch, each fed with what the one before it left. Of the
    elements that lie within a tensor's own noise, if they are many, ``unseen`` keeps that limit
    and their noise alone.
    """

    def __init__(
        self,
        graph: Graph,
        oracle: Session,
        feeds: Arrays,
        noise: Noise | None,
        *,
        memory_bytes: int | None = None,
    ) -> None:
        self.graph, self.oracle, self.feeds, self.noise = graph, oracle, feeds, noise
        self.topology = Topology(graph)
        self.names = [name for name in self.topology.maker if name in self.topology.live]
        self._fed = {name: np.asarray(value) for name, value in feeds.items() if numeric(value)}
        self._room = (memory_bytes or usual_share()) // 4
        self._sizes = in_float64(graph, feeds)
        self.values: Mapping[str, Array] = {}
        self.prints: dict[str, Fingerprint] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.spread: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self.unseen: dict[str, tuple[float, float, float]] = {}
        self.draws = DRAWS
        self._stored: dict[str, Any] = {}

    def look(self, draws: int = DRAWS) -> None:
        """Compute every tensor, its fingerprint, and the rms and peak by which noise moves it."""
        self.draws = draws
        self.prints = {name: fingerprint(value) for name, value in self._fed.items()}
        self.shapes = {name: value.shape for name, value in self._fed.items()}
        self.spread, self.peak = dict.fromkeys(self._fed, 0.0), dict.fromkeys(self._fed, 0.0)
        pieces = self._batches(self.names)
        kept = self._remembered(pieces, {})
        seeds = (None,) if self.noise is None else (None, *range(draws))
        carried: list[dict[str, Any]] = [{} for _ in seeds]
        last = self._last_read(pieces)
        for place, batch in enumerate(pieces):
            drawn: list[Mapping[str, Any]] = []
            for each, seed in enumerate(seeds):
                found = self._drawn({**self.feeds, **carried[each]}, batch, seed)
                drawn.append(found)
                left = {**carried[each], **{name: found[name] for name in batch}}
                carried[each] = {name: left[name] for name in left if last.get(name, -1) > place}
            values = self._numbers(drawn[0], batch)
            self._note(values, drawn[1:])
            kept.put(place, values)
        self.values = Layered(kept, self._fed)

    def _drawn(self, feeds: Arrays, batch: Sequence[str], seed: int | None) -> Mapping[str, Any]:
        if seed is None or self.noise is None:
            return self.oracle.run(feeds, list(batch))
        return self.oracle.run(feeds, list(batch), noise=replace(self.noise, seed=seed))

    def _note(self, values: Mapping[str, Array], draws: Sequence[Mapping[str, Any]]) -> None:
        """What is kept of a batch when its values are let go."""
        about_mean = self.noise is not None and self.noise.quantisers
        for name, value in values.items():
            self.prints[name], self.shapes[name] = fingerprint(value), value.shape
            moved = [draw.get(name) for draw in draws]
            self.spread[name], self.peak[name] = (
                _spread(value, moved, about_mean=about_mean) if draws else (0.0, 0.0)
            )
            if draws:
                self._note_unseen(name, value, moved, about_mean=about_mean)

    def _note_unseen(
        self, name: str, value: Array, draws: Sequence[Any], *, about_mean: bool
    ) -> None:
        """The noise of a tensor's small elements alone, where it is lost in that of the large.

        Beside the huge negative numbers of a mask, scores are rounding.
        """
        limit = self.spread[name] + FLOAT64_ORDER * self.prints[name].rms
        small = within(value, limit)
        if _FEWEST_UNSEEN * np.count_nonzero(small) < value.size or not small.any():
            return
        fitting = all(numeric(draw) and np.shape(draw) == value.shape for draw in draws)
        kept = [np.asarray(draw)[small] for draw in draws] if fitting else []
        if kept:
            self.unseen[name] = (limit, *_spread(value[small], kept, about_mean=about_mean))

    def _last_read(self, pieces: Sequence[Sequence[str]]) -> dict[str, int]:
        """The last batch for which each tensor is needed."""
        return {
            source: place
            for place, batch in enumerate(pieces)
            for name in batch
            for source in self.topology.reads(self.topology.maker[name])
        }

    def _batches(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return batches(names, self._sizes, self._room // _HELD_AT_ONCE)

    def _remembered(
        self, pieces: Sequence[Sequence[str]], given: Mapping[str, Array]
    ) -> Remembered:
        return Remembered(pieces, lambda batch: self.run(batch, given), self._room)

    def with_given(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        """Every tensor, with these replaced: what lies behind them is computed when asked for."""
        if not given:
            return self.values
        behind = self.topology.below(given)
        changed = [name for name in self.names if name in behind and name in self.values]
        fresh = self._remembered(self._batches(changed), given)
        return Layered(dict(given), fresh, self.values)

    def stored(self, names: Sequence[str]) -> Mapping[str, Array]:
        """Constants, read when they are asked for; what cannot be read has no value."""
        shapes = {name: self.graph.constants[name].shape for name in names}
        sizes = {name: 8 * math.prod(shape) for name, shape in shapes.items()}
        pieces = batches(names, sizes, self._room // _HELD_AT_ONCE)
        return Remembered(pieces, self._read, self._room)

    def _read(self, batch: Sequence[str]) -> dict[str, Array]:
        try:
            return self._numbers(self.oracle.run({}, list(batch)), batch)
        except IsomorphError:
            # One of them is to blame; the others are there.
            half = len(batch) // 2
            return {**self._read(batch[:half]), **self._read(batch[half:])} if half else {}

    def run(
        self, names: Iterable[str], given: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Values of these tensors, float64 from an oracle, with some others replaced."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        placed = {name: self._as_stored(name, value) for name, value in (given or {}).items()}
        return self._numbers(self.oracle.run({**self.feeds, **placed}, wanted), wanted)

    def _numbers(self, result: Mapping[str, Any], names: Iterable[str]) -> dict[str, Array]:
        values = {name: np.asarray(result[name]) for name in names if numeric(result[name])}
        self._stored.update({name: value.dtype for name, value in values.items()})
        # What NumPy has no kind for (bfloat16, float8) is compared as float64, exactly.
        return {n: v if v.dtype.kind in "fiub" else v.astype(float) for n, v in values.items()}

    def _as_stored(self, name: str, value: Array) -> Array:
        """In the type in which this side holds the tensor."""
        dtype = self._stored.get(name, value.dtype)
        with np.errstate(over="ignore"):
            return value if value.dtype == dtype else np.ascontiguousarray(value.astype(dtype))


def numeric(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a tensor of numbers (and not a sequence, text or nothing)."""
    return isinstance(value, np.ndarray) and (
        value.dtype.kind in "fiub" or "float" in str(value.dtype)
    )


def within(value: Array, limit: float) -> Array:
    """Where a tensor of floats is neither zero nor larger than that."""
    if value.dtype.kind != "f":
        return np.zeros(value.shape, bool)
    return np.asarray((value != 0) & (np.abs(value) <= limit))


def _spread(value: Array, draws: list[Any], *, about_mean: bool) -> tuple[float, float]:
    arrays = [np.asarray(draw, np.float64) for draw in draws if numeric(draw)]
    if len(arrays) < len(draws) or any(array.shape != value.shape for array in arrays):
        return float("inf"), float("inf")
    if not value.size:
        return 0.0, 0.0
    with np.errstate(all="ignore"):
        centre = np.mean(arrays, axis=0) if about_mean else value.astype(np.float64)
        steps = [np.where(np.isfinite(array - centre), array - centre, 0.0) for array in arrays]
    squares = [float(np.mean(np.square(step))) for step in steps]
    return float(np.sqrt(np.mean(squares))), max(float(np.max(np.abs(step))) for step in steps)


def apart(left: Array, right: Array) -> tuple[float, float]:
    """Rms and largest size of the difference; infinite where NaN or infinities do not coincide."""
    if left.shape != right.shape:
        return float("inf"), float("inf")
    if not left.size:
        return 0.0, 0.0
    with np.errstate(all="ignore"):
        a, b = left.astype(np.float64), right.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        step = np.abs(np.where(same, 0.0, a - b))
        step = np.where(np.isnan(step), np.inf, step)
        return float(np.sqrt(np.mean(np.square(step)))), float(np.max(step))
