"""Positive numbers over several decades, as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

_WIDEST = 60
_PER_DECADE = 2


def histogram(values: Sequence[float]) -> str:
    """One line for each half decade from the smallest to the largest, and one for the infinite."""
    shown = [value for value in values if 0 < value < math.inf]
    counts = Counter(math.floor(_PER_DECADE * math.log10(value)) for value in shown)
    beyond = sum(value == math.inf for value in values)
    infinite = f"{'infinite':>20} {beyond:>6}" if beyond else ""
    if not counts:
        return infinite or "(nothing to show)"
    most = max(counts.values())
    lines = [
        f"{10 ** (place / _PER_DECADE):>9.1e} … {10 ** ((place + 1) / _PER_DECADE):<8.1e}"
        f"{counts[place]:>6}  {'#' * math.ceil(_WIDEST * counts[place] / most)}"
        for place in range(min(counts), max(counts) + 1)
    ]
    return "\n".join([*lines, infinite] if infinite else lines)


def median(values: Sequence[float]) -> float:
    """NaN of nothing."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if not ordered:
        return math.nan
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
