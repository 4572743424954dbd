"""Noise that keeps ties: equal results of one elementwise operation are rounded alike.

Rounding is a function of the exact result. Noise that is drawn for each element alone breaks every
tie, and so explains any decision among equal numbers. Whether a tie explains one is seen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.oracle.noise import Array, Rounding, even_steps

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.magnitudes import KeptSizes

_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The multipliers of splitmix64, which makes unrelated words of similar ones."""


class TiedRounding(Rounding):
    """Rounding whose noise depends on the result, beside the seed and the site.

    Sums are disturbed one by one: their rounding depends on the order of their terms. So are
    results that float32 has: a sigmoid of 1 stands for many numbers below.
    """

    _key: np.uint64 | None = None

    def rounded(self, y: Array, magnitude: Array | float | None = None) -> Array:
        """As the rounding of each element alone, but alike for equal ones."""
        self._key = np.uint64(self.random.bit_generator.random_raw())
        try:
            return super().rounded(y, magnitude)
        finally:
            self._key = None

    def _drawn(self, random: np.random.Generator, own: Array, deviation: float) -> Array:
        alone = super()._drawn(random, own, deviation)
        if self._key is None or own.dtype != np.float64:
            return alone
        tied = even_steps(_words_of(own, self._key), deviation)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(own.astype(np.float32) == own, alone, tied)


def _words_of(values: Array, key: np.uint64) -> Array:
    """Return a word of 16 bits for each number: the same for equal ones."""
    with np.errstate(over="ignore"):
        words = np.array(values, np.float64, order="C").view(np.uint64) + key
        for shift, factor in zip((30, 27), _MIX, strict=True):
            words = (words ^ (words >> np.uint64(shift))) * factor
    words ^= words >> np.uint64(31)
    return (words >> np.uint64(48)).astype(np.uint16).view(np.int16)


def rounding_of(noise: Noise, magnitudes: KeptSizes) -> Rounding:
    """The source of the rounding that a draw asks for."""
    kind = TiedRounding if noise.tied else Rounding
    return kind(
        noise.seed,
        quantizers=noise.quantizers,
        run_time=noise.run_time,
        scale=noise.scale,
        cache=magnitudes,
    )
