"""By what some forms of an operator are told from the others: as little as is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isomorph.stages.lint.measured import DTYPE, INPUTS, RANK, speaks_of

Shown = Mapping[str, Any]


def told_apart(
    wrong: Iterable[tuple[str, Shown, float]], right: Sequence[tuple[str, Shown]]
) -> list[dict[str, Any]]:
    """Rows for operators with what they show and an error each, that speak of none of the right.

    Sizes are left out where they can be. A word, a flag, a rank or a type is left out only where
    forms with another one are wrong as well: of one that was not measured nothing is known. A form
    that shows nothing which the right ones do not show is not told: nobody could tell.
    """
    wrong = list(wrong)
    found: list[dict[str, Any]] = []
    for op, shown, error in wrong:
        others = [each for name, each in right if name == op]
        fellows = [each for name, each, _ in wrong if name == op]
        if any(speaks_of(shown, each) for each in others):
            continue
        when = dict(shown)
        for name in sorted(shown, key=lambda name: _weight(name, shown[name])):
            fewer = {key: value for key, value in when.items() if key != name}
            if any(speaks_of(fewer, each) for each in others):
                continue
            values = [each.get(name) for each in fellows if speaks_of(fewer, each)]
            if _weight(name, shown[name])[0] == 0 or any(value != values[0] for value in values):
                when = fewer
        same = next((row for row in found if row["op"] == op and row["when"] == when), None)
        if same is None:
            same = {"op": op, "when": when, "error": 0.0}
            found.append(same)
        same["error"] = max(same["error"], float(f"{error:.1e}"))
    return sorted(found, key=lambda row: (row["op"], str(row["when"])))


def _weight(name: str, value: Any) -> tuple[int, str]:
    """What is left out first: sizes, then flags, then what is known of the inputs, then words."""
    if name in {DTYPE, INPUTS, RANK}:
        return 2, name
    return (3 if isinstance(value, str) else 1 if isinstance(value, bool) else 0), name
