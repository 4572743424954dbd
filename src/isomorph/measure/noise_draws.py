"""Draw an oracle under noise, and accumulate the spread of each tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.trace import Noise, flatten
from isomorph.measure.moments import Moments
from isomorph.measure.spread import DRAWS, WIDER, Spread

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays

_WIDE_SEEDS = 500_000


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


class NoiseDraws:
    """A spread that further draws refine.

    Deviations are taken about the oracle's own value, or about the mean of the draws where the
    undisturbed value is itself in question (the quantizers of a candidate). Where elements may
    jump (``jumps``) every draw is kept.
    """

    def __init__(
        self, center: Arrays, noise: Noise, *, about_mean: bool = False, jumps: bool = False
    ) -> None:
        flat = {key: value for name in center for key, value in flatten(name, center[name]).items()}
        self._names, self._noise, self._about_mean = list(center), noise, about_mean
        self._drawn = self._wide = 0
        self._sums = {
            key: Moments(np.asarray(value), about_mean=about_mean, jumps=jumps)
            for key, value in flat.items()
            if value is not None
        }

    def draw_until(
        self,
        draws: int,
        session: Session,
        feeds: Arrays,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Draw until there are ``draws`` in total."""
        for draw in range(self._drawn, draws):
            self._draw(session, feeds, replace(self._noise, seed=self._seed(draw)))
            self._drawn = draw + 1
            if on_progress is not None:
                on_progress(self._drawn)

    def draw_wider_until(
        self,
        draws: int,
        session: Session,
        feeds: Arrays,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Draw with wider noise, which shows the values that rounding could reach."""
        for draw in range(self._wide, draws):
            noise = replace(self._noise, seed=self._seed(_WIDE_SEEDS + draw), scale=WIDER)
            self._draw(session, feeds, noise)
            self._wide = draw + 1
            if on_progress is not None:
                on_progress(self._wide)

    def spreads(self) -> Mapping[str, Spread]:
        """Return the spread of each tensor from the draws so far."""
        return {key: moments.spread(self._drawn) for key, moments in self._sums.items()}

    def _seed(self, draw: int) -> int:
        return self._noise.seed * 1_000_003 + draw

    def _draw(self, session: Session, feeds: Arrays, noise: Noise) -> None:
        result = session.run(feeds, self._names, noise=noise)
        moved = {
            key: value for name in result for key, value in flatten(name, result[name]).items()
        }
        for key, moments in self._sums.items():
            moments.add(moved.get(key), wide=noise.scale != 1.0)
