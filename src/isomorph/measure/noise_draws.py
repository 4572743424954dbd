"""Draws of an oracle under noise, gathered into the spread of each tensor."""

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
    """Run the oracle ``draws`` times under ``noise``: what moved, at the tensors of ``center``."""
    spreading = Spreading(center, noise, about_mean=about_mean)
    spreading.reach(draws, session, feeds)
    return spreading.spreads()


class Spreading:
    """A spread that more draws can sharpen.

    Deviations are taken about the oracle's own value, or about the mean of the draws where the
    undisturbed value is itself under suspicion (the quantizers of a candidate). Where elements
    may jump (``jumps``) every draw is kept.
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

    def reach(
        self,
        draws: int,
        session: Session,
        feeds: Arrays,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Draw until there are so many; those that were drawn before count."""
        for draw in range(self._drawn, draws):
            self._draw(session, feeds, replace(self._noise, seed=self._seed(draw)))
            self._drawn = draw + 1
            if on_progress is not None:
                on_progress(self._drawn)

    def reach_wider(
        self,
        draws: int,
        session: Session,
        feeds: Arrays,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        """Draw so often with wider noise: it shows which values rounding could have reached."""
        for draw in range(self._wide, draws):
            noise = replace(self._noise, seed=self._seed(_WIDE_SEEDS + draw), scale=WIDER)
            self._draw(session, feeds, noise)
            self._wide = draw + 1
            if on_progress is not None:
                on_progress(self._wide)

    def spreads(self) -> Mapping[str, Spread]:
        """What the draws so far did to each tensor."""
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
