"""Draw an oracle under noise, and accumulate the spread of each tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import BATCH_BYTES
from isomorph.core.memory import share_of_memory
from isomorph.core.protocols import RunsMany
from isomorph.core.stated_numbers import DRAWS, WIDER
from isomorph.core.trace import Noise, RunRequest, flatten
from isomorph.measure.moments import Moments
from isomorph.measure.spread import Spread
from isomorph.oracle.draw_accumulator import DrawAccumulator
from isomorph.sessions.trace_session import SEEDS

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays

_AT_ONCE = 5
"""Draws of one message, at most: an interruption waits for them."""
_WIDE_SEEDS = 500_000
"""Draws of wider noise count from here, so that no two draws of a noise share a seed."""


def spreads(
    session: Session,
    feeds: Arrays,
    center: Arrays,
    noise: Noise,
    *,
    draws: int = DRAWS,
    about_mean: bool = False,
) -> Mapping[str, Spread]:
    """Run the oracle ``draws`` times under ``noise``; return the spread of ``center``."""
    spreading = NoiseDraws(center, noise, about_mean=about_mean)
    spreading.draw_until(draws, session, feeds)
    return spreading.spreads()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNoise:
    """A noise that was drawn on some feeds, under the name of what it explains."""

    what: str
    noise: Noise
    about_mean: bool
    draws: int

    @property
    def of_rounding_alone(self) -> bool:
        """Whether nothing but the rounding of operations is drawn."""
        return self.noise == Noise(seed=self.noise.seed, rounding=True)


class NoiseDraws:
    """A spread that further draws refine.

    Deviations are taken about the oracle's own value, or about the mean of the draws where the
    undisturbed value is itself in question (the quantizers of a candidate). Where elements may
    jump (``jumps``) every draw is kept.
    """

    def __init__(
        self, center: Arrays, noise: Noise, *, about_mean: bool = False, jumps: bool = False
    ) -> None:
        self._names, self.noise = list(center), noise
        self.about_mean = about_mean
        self._plain = self._wide = 0
        self._spreads: tuple[tuple[int, int], Mapping[str, Spread]] | None = None
        self._sums = {
            key: DrawAccumulator(value, Moments(value, about_mean=about_mean, jumps=jumps))
            for key, value in _flat(center).items()
            if value is not None
        }

    @property
    def drawn(self) -> int:
        """The number of draws so far, without wider ones."""
        return self._plain

    def made(self, what: str) -> DrawnNoise:
        """The noise and how often it was drawn, under the name of what it explains."""
        return DrawnNoise(
            what=what, noise=self.noise, about_mean=self.about_mean, draws=self._plain
        )

    @property
    def bytes_of_draw(self) -> int:
        """The size of the results of one draw."""
        return sum(each.center.nbytes for each in self._sums.values())

    def draw_until(
        self,
        draws: int,
        session: Session,
        feeds: Arrays,
        *,
        wide: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Draw until there are ``draws`` in total.

        ``wide`` draws are counted by themselves. Their noise is wider, which shows the values that
        rounding could reach.
        """
        requests = self.requests(draws, feeds, wide=wide)
        while requests:
            now = requests[: self._at_once()]
            if len(now) > 1 and isinstance(session, RunsMany):
                found = session.run_many(now)
            else:
                found = [session.run(feeds, self._names, noise=now[0].noise)]
            self.add(found, wide=wide)
            del requests[: len(found)]
            if on_progress is not None:
                on_progress(draws - len(requests))

    def requests(self, draws: int, feeds: Arrays, *, wide: bool = False) -> list[RunRequest]:
        """Return the runs that are missing until there are ``draws`` in total."""
        return [
            RunRequest(feeds=feeds, fetch=self._names, noise=self._noise_of(draw, wide=wide))
            for draw in range(self._wide if wide else self._plain, draws)
        ]

    def add(self, drawn: Iterable[Arrays], *, wide: bool = False) -> None:
        """Add the results of the runs that were requested, in their order."""
        for result in drawn:
            self._add(result, wide=wide)
            if wide:
                self._wide += 1
            else:
                self._plain += 1

    def _at_once(self) -> int:
        """How many draws one message asks for: their results are held together."""
        return max(1, min(_AT_ONCE, share_of_memory(BATCH_BYTES) // max(self.bytes_of_draw, 1)))

    def spreads(self) -> Mapping[str, Spread]:
        """Return the spread of each tensor from the draws so far; computed once for them."""
        drawn = self._plain, self._wide
        if self._spreads is None or self._spreads[0] != drawn:
            found = {key: each.statistic.spread(self._plain) for key, each in self._sums.items()}
            self._spreads = drawn, found
        return self._spreads[1]

    def _noise_of(self, draw: int, *, wide: bool = False) -> Noise:
        seed = self.noise.seed * SEEDS + draw
        if wide:
            return replace(self.noise, seed=seed + _WIDE_SEEDS, scale=WIDER)
        return replace(self.noise, seed=seed)

    def _add(self, drawn: Arrays, *, wide: bool = False) -> None:
        moved = _flat(drawn)
        for key, each in self._sums.items():
            each.add(moved.get(key), wide=wide)


def _flat(values: Arrays) -> dict[str, Array | None]:
    """Return every tensor, and every element of a sequence or a map, as an array."""
    return {
        key: None if value is None else np.asarray(value)
        for name in values
        for key, value in flatten(name, values[name]).items()
    }


def flattened(result: Arrays) -> dict[str, Array]:
    """Return every tensor of a result by its path, without absent ones."""
    return {
        key: np.asarray(value)
        for name in result
        for key, value in flatten(name, result[name]).items()
        if value is not None
    }
