"""Integers of one side beside the real numbers that they stand for on the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from isomorph.core.chance import threshold
from isomorph.match.quantizers import real_values
from isomorph.match.tensor_capture import apart
from isomorph.match.value_match import ways
from isomorph.oracle.fingerprint import fingerprint

if TYPE_CHECKING:
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.value_match import ValueMatcher

_MOST_COMPARED = 16
_ROUNDING = math.sqrt(12.0)
"""A rounding that may fall anywhere in a step has this share of it as its deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quanta:
    """A quantized tensor of the candidate and the nearest one of the reference."""

    candidate: str
    reference: str
    moved: Rearrangement


def quanta(
    matcher: ValueMatcher,
    values: Mapping[str, Array],
    grids: Mapping[str, Quantization],
    known: Mapping[str, str],
) -> Iterator[Quanta]:
    """Quantized activations that nothing equals as integers, by their real numbers.

    The noise is what the quantizers before it do, and its own rounding. Of several within it
    the nearest is meant.
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
            yield Quanta(candidate=name, reference=best[1], moved=best[2])


def _near(
    matcher: ValueMatcher, real: Array, noise: float
) -> Iterator[tuple[float, str, Rearrangement]]:
    bound = threshold(real.size)
    for mine in islice(matcher.near(fingerprint(real), noise), _MOST_COMPARED):
        source = matcher.reference.values[mine]
        for moved in ways(source, real.shape):
            rms, _ = apart(moved.array(source), real)
            if rms <= bound * math.hypot(noise, matcher.reference.spread[mine]):
                yield rms, mine, moved
