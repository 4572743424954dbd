"""Positive numbers over several decades, as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

_WIDEST = 60
_PER_DECADE = 2
_GAP = f"{'⋮':>11}"


def histogram(values: Sequence[float]) -> str:
    """One line for each half decade from the smallest to the largest, and one for the infinite."""
    shown = [value for value in values if 0 < value < math.inf]
    counts = Counter(math.floor(_PER_DECADE * math.log10(value)) for value in shown)
    beyond = sum(value == math.inf for value in values)
    infinite = f"{'infinite':>20} {beyond:>6}" if beyond else ""
    if not counts:
        return infinite or "(nothing to show)"
    most = max(counts.values())
    lines = []
    for place in range(min(counts), max(counts) + 1):
        # A far outlier is one line away, not a screen of empty ones.
        if not counts[place] and not counts[place - 1]:
            if lines[-1] != _GAP:
                lines.append(_GAP)
            continue
        lines.append(_line(place, counts[place], most))
    return "\n".join([*lines, infinite] if infinite else lines)


def _line(place: int, count: int, most: int) -> str:
    low, high = (10 ** (edge / _PER_DECADE) for edge in (place, place + 1))
    return f"{low:>9.1e} … {high:<8.1e}{count:>6}  {'#' * math.ceil(_WIDEST * count / most)}"


def median(values: Sequence[float]) -> float:
    """NaN of nothing."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return math.nan
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
