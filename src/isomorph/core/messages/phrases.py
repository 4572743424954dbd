"""Parts of sentences: shares as percentages, and nodes by operator and name."""

from __future__ import annotations

import math

from isomorph.core.messages import message

_SMALLEST_PERCENTAGE = 1e-6
_LARGEST_PERCENTAGE = 100.0
"""Ten thousand percent: beyond, a factor is read more easily."""


def percentage(share: float) -> str:
    """``128%``, ``0.068%``, ``4e-09 of its size``, ``320 times its size``."""
    if not math.isfinite(share):
        return "an infinite amount"
    if share >= _LARGEST_PERCENTAGE:
        return f"{share:.3g} times its size"
    if 0 < share < _SMALLEST_PERCENTAGE:
        return f"{share:.2g} of its size"
    return f"{_plain(100.0 * share)}%"


def _plain(value: float) -> str:
    """Two figures without an exponent; three from 100 on."""
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    places = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{places}f}"


def named_node(op: str, name: str) -> str:
    """``Conv 'stem'``: what a finding calls a node."""
    return f"{op} {name!r}"


def differing_weight(constant: str, reference: str, difference: str) -> str:
    """A weight and how it differs, with the reference's name where that is another."""
    if constant == reference:
        return message("weight.differs", constant=constant, difference=difference)
    return message(
        "weight.differs_renamed", constant=constant, reference=reference, difference=difference
    )
