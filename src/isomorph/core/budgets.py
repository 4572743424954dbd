"""Budgets that a user states: numbers that an error is compared with, or a usage error."""

from __future__ import annotations

import math
from collections.abc import Mapping

from isomorph.core.errors import UsageError


def stated_budgets(budget: Mapping[str, float] | float | None) -> dict[str, float]:
    """An absolute budget by output name; under the empty name, for every other output."""
    if budget is None:
        return {}
    given = budget if isinstance(budget, Mapping) else {"": budget}
    return {name: _valid(name, value) for name, value in given.items()}


def is_budget(value: object) -> bool:
    """Whether an error can be compared with it: a finite number that is not below zero."""
    if isinstance(value, (bool, str, bytes)):
        return False
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return math.isfinite(number) and number >= 0.0


def _valid(name: str, value: float) -> float:
    if is_budget(value):
        return float(value) + 0.0  # an error over -0.0 would be below every bound
    of = f" of output {name!r}" if name else ""
    raise UsageError(
        "BAD_OPTION",
        f"the budget{of} is {value!r}",
        why="a budget is the largest absolute error that passes: a finite number, 0 or more",
        fix="state such a number, or none: without a budget, one is derived from rounding",
    )
