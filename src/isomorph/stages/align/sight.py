"""What one graph computes on one sample, tensor by tensor, and how far rounding moves each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.stages.align.fingerprint import Fingerprint, fingerprint
from isomorph.stages.align.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise

DRAWS = 4
"""A root mean square over a whole tensor is steady after few draws."""


class Sight:
    """One side: its graph, its oracle and the feeds.

    Without ``noise`` it is a run that is looked at, in a runtime: what it gives is what it is.
    """

    def __init__(self, graph: Graph, oracle: Session, feeds: Arrays, noise: Noise | None) -> None:
        self.graph, self.oracle, self.feeds, self.noise = graph, oracle, feeds, noise
        self.topology = Topology(graph)
        self.names = [name for name in self.topology.maker if name in self.topology.live]
        self.values: dict[str, Array] = {}
        self.prints: dict[str, Fingerprint] = {}
        self.spread: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self._stored: dict[str, Any] = {}

    def look(self) -> None:
        """Compute every tensor, its fingerprint, and the rms and peak by which noise moves it."""
        fed = {name: np.asarray(value) for name, value in self.feeds.items() if numeric(value)}
        self.values = {**fed, **self.run(self.names)}
        self.prints = {name: fingerprint(value) for name, value in self.values.items()}
        self.spread, self.peak = dict.fromkeys(fed, 0.0), dict.fromkeys(fed, 0.0)
        computed = {name: value for name, value in self.values.items() if name not in fed}
        noise = self.noise
        if noise is None:
            self.spread, self.peak = (
                dict.fromkeys(self.values, 0.0),
                dict.fromkeys(self.values, 0.0),
            )
            return
        draws = [
            self.oracle.run(self.feeds, list(computed), noise=replace(noise, seed=seed))
            for seed in range(DRAWS)
        ]
        for name, value in computed.items():
            self.spread[name], self.peak[name] = _spread(
                value, [draw.get(name) for draw in draws], about_mean=noise.quantisers
            )

    def run(
        self, names: Iterable[str], given: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Values of these tensors, float64 from an oracle, with some others replaced."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        placed = {name: self._as_stored(name, value) for name, value in (given or {}).items()}
        result = self.oracle.run({**self.feeds, **placed}, wanted)
        values = {name: np.asarray(result[name]) for name in wanted if numeric(result[name])}
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
