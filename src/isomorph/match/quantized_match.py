"""Match quantized tensors of the candidate with real tensors of the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.chance import threshold
from isomorph.core.limits import NEAR_QUANTIZED
from isomorph.match.value_match import rearrangements
from isomorph.oracle.fingerprint import fingerprint
from isomorph.oracle.sizes import rms_and_peak
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.value_match import ValueMatcher

_ROUNDING = math.sqrt(12.0)
"""The standard deviation of a rounding that is uniform in a step is the step divided by this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedPair:
    """A quantized tensor of the candidate and the closest tensor of the reference."""

    candidate: str
    reference: str
    moved: Rearrangement


def quantized_pairs(
    matcher: ValueMatcher,
    values: Mapping[str, Array],
    grids: Mapping[str, Quantization],
    known: Mapping[str, str],
) -> Iterator[QuantizedPair]:
    """Yield quantized activations that have no equal as integers, matched by real values.

    The tolerance is the noise of the quantizers before a tensor and its own rounding. The closest
    of several tensors within it is chosen.
    """
    for name, grid in grids.items():
        if name in known or name not in values or values[name].dtype.kind not in "iu":
            continue
        real, step = real_values(values[name], grid), max(grid.scale)
        if real is None or not math.isfinite(step):
            continue
        noise = step * math.hypot(matcher.candidate.spread[name], 1.0 / _ROUNDING)
        if not math.isfinite(noise):
            continue
        best = min(_near(matcher, real, noise), key=lambda found: found[0], default=None)
        if best is not None:
            yield QuantizedPair(candidate=name, reference=best[1], moved=best[2])


def _near(
    matcher: ValueMatcher, real: Array, noise: float
) -> Iterator[tuple[float, str, Rearrangement]]:
    bound = threshold(real.size)
    for ref in NEAR_QUANTIZED.first(matcher.near(fingerprint(real), noise)):
        source = matcher.reference.values[ref]
        for moved in rearrangements(source, real.shape):
            rms, _ = rms_and_peak(moved.array(source), real)
            if rms <= bound * math.hypot(noise, matcher.reference.spread[ref]):
                yield rms, ref, moved
