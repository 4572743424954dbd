"""How numbers, shapes and judgments are written in a terminal."""

from __future__ import annotations

import math

from rich.text import Text

from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Judgment, Verdict
from isomorph.core.messages import message

MOST_TIMES = 1e12
"""A larger multiple is not shown: its denominator is as good as zero."""

NOT_MEASURED = message("FIGURE.not_measured")
NOTHING_FINITE = message("FIGURE.nothing_finite")

# Not knowing is never green.
VERDICT_STYLE = {
    Verdict.EQUIVALENT: "bold green",
    Verdict.DEGRADED: "bold yellow",
    Verdict.DIVERGENT: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}
JUDGMENT_STYLE = {Judgment.YES: "green", Judgment.NO: "red", Judgment.UNKNOWN: "magenta"}


def number(value: float | None) -> str:
    """Three figures; ``n/a`` where a measure is undefined."""
    if value is None:
        return "n/a"
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    return f"{value:.2e}"


def times(ratio: float) -> str:
    """How many times over: ``0.21×``, ``36×``, ``1.2e+05×``."""
    if not ratio <= MOST_TIMES:
        return f"{ratio}×" if math.isnan(ratio) else f">{MOST_TIMES:.0e}×"
    if ratio and ratio < 0.005:
        return "<0.01×"
    return f"{ratio:.2f}×" if ratio < 10 else (f"{ratio:.0f}×" if ratio < 1e4 else f"{ratio:.1e}×")


def used(budget: Budget) -> str:
    """How many times over its budget an error is; ``<0.21×`` where the budget is larger still."""
    assert budget.ratio is not None
    text = times(budget.ratio)
    return f"<{text}" if budget.lower_bound and budget.ratio and text[0] != "<" else text


def closeness(cosine: float | None) -> str:
    """A cosine, shown by its distance from one."""
    if cosine is None:
        return "n/a"
    return (
        "1" if cosine == 1 else f"1−{1 - cosine:.1e}" if 0 < 1 - cosine < 1e-3 else f"{cosine:.4f}"
    )


def size(part: ErrorTerm) -> str:
    """The largest error, and what it leaves out: NaN and infinities on one side only."""
    distance = part.distance
    misplaced = distance.nonfinite_mismatch
    if distance.elements == 0:
        return message("FIGURE.no_elements")
    if distance.max_abs is None and not misplaced:
        return f"{distance.differing} differ"
    return number(distance.max_abs) + (f", {misplaced} NaN/Inf" if misplaced else "")


def without_numbers(one: Divergence) -> bool:
    """Whether nothing finite was compared, so that no difference seen is none measured."""
    return one.verdict is Verdict.UNKNOWN and one.elements > 0 and not one.finite


def share(part: ErrorTerm, yardstick: str) -> Text:
    """How much of its yardstick an error uses up; not knowing is never green."""
    ratio = part.budget.ratio
    if ratio is None:
        text = message("FIGURE.not_judged", yardstick=yardstick)
    else:
        text = (
            message("FIGURE.none_allowed")
            if ratio == math.inf
            else f"{used(part.budget)} {yardstick}"
        )
    return Text(text, style=JUDGMENT_STYLE[part.budget.within])


def seen(distance: Distance, *, verbose: bool = False) -> str:
    """The distance of the two runs: relative to the norm, and of the worst element."""
    if distance.max_abs is None:
        return message("FIGURE.differing", count=distance.differing, elements=distance.elements)
    if distance.max_rel is None and distance.cosine is None:  # whole numbers and truths
        text = message("FIGURE.differing", count=distance.differing, elements=distance.elements)
        most = message("FIGURE.by_at_most", size=distance.max_abs)
        return f"{text}\n{most}" if distance.max_abs > 1 else text
    lines = [
        f"norm-relative {number(distance.relative_l2)}",
        message("FIGURE.largest", number=number(distance.max_abs)),
    ]
    if verbose:
        lines.append(message("FIGURE.largest_ratio", number=number(distance.max_rel)))
    return "\n".join([*lines, f"cosine {closeness(distance.cosine)}"])
