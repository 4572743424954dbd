"""The fewest features that distinguish some forms of an operator from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isomorph.linting.measured_forms import DTYPE, INPUTS, RANK, applies_to

Shown = Mapping[str, Any]


def distinguishing_features(
    wrong: Iterable[tuple[str, Shown, float]], right: Sequence[tuple[str, Shown]]
) -> list[dict[str, Any]]:
    """Rows for operators with what they show and an error each, that speak of none of the right.

    Lists of sizes are left out where they can be. A word, number, flag, rank or type is left out
    only where forms with another one are wrong as well: of one that was not measured nothing is
    known. A form that shows nothing which the right ones do not show is left out.
    """
    wrong = list(wrong)
    found: list[dict[str, Any]] = []
    for op, shown, error in wrong:
        others = [each for name, each in right if name == op]
        fellows = [each for name, each, _ in wrong if name == op]
        if any(applies_to(shown, each) for each in others):
            continue
        when = dict(shown)
        for name in sorted(shown, key=lambda name: _weight(name, shown[name])):
            fewer = {key: value for key, value in when.items() if key != name}
            if any(applies_to(fewer, each) for each in others):
                continue
            values = [each.get(name) for each in fellows if applies_to(fewer, each)]
            if _weight(name, shown[name])[0] < 0 or any(value != values[0] for value in values):
                when = fewer
        same = next((row for row in found if row["op"] == op and row["when"] == when), None)
        if same is None:
            same = {"op": op, "when": when, "error": 0.0}
            found.append(same)
        same["error"] = max(same["error"], float(f"{error:.1e}"))
    kept = [row for row in found if not any(_covers(other, row) for other in found)]
    return sorted(kept, key=lambda row: (row["op"], str(row["when"])))


def certain(row: Mapping[str, Any], forms: Iterable[Shown]) -> bool:
    """Whether a refusal is the operator's, or that of one of its attributes.

    Test suites like what is rare: all weights in one tensor, no bias, every axis but the usual one.
    Without such an attribute, the rare form may be what was refused, and no user would meet it.
    """
    plain = all(set(shown) <= {DTYPE, INPUTS, RANK} and shown[INPUTS] == 1 for shown in forms)
    return plain or any(
        isinstance(value, (str, bool)) and name not in {DTYPE, INPUTS, RANK}
        for name, value in row["when"].items()
    )


def _covers(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    """Whether a row says of more forms what the other says, and no less."""
    same = wide["op"] == narrow["op"] and wide["error"] >= narrow["error"]
    fewer = len(wide["when"]) < len(narrow["when"])
    return same and fewer and all(narrow["when"].get(k) == v for k, v in wide["when"].items())


def _weight(name: str, value: Any) -> tuple[float, str]:
    """What is left out first: what is empty, sizes, numbers, flags, inputs, and words at last."""
    if name in {DTYPE, INPUTS, RANK}:
        return 2, name
    if isinstance(value, str):
        return 3, name
    if isinstance(value, bool):
        return 1, name
    return (-2 if value in (None, []) else -1 if isinstance(value, list) else 0), name
