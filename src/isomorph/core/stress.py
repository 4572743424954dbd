"""The answer of ``stress``: the input on which two models differ most, and its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from isomorph.core.ranges import InputRange
from isomorph.core.report import Report, Skipped

SCHEMA = "isomorph.stress/1"


class StressFinding(StrEnum):
    """What the found input shows."""

    WITHIN = "the models agree on the worst input that was found"
    DIFFERENT_FUNCTION = "the functions differ: so do the float64 oracles"
    ROUNDING_EXCEEDS_BUDGET = (
        "the budget is exceeded by rounding alone: the float64 oracles agree. "
        "That is a defect of the budget, or of a runtime"
    )
    LATENT = "the models agree on this input; a difference is known that it does not show"
    UNDECIDED = "the check of the input could not be decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """The worst input of a search, and the verdict of a check on exactly that input.

    ``ratio`` is the largest error over its budget of all outputs, ``start_ratio`` that of the best
    sample that the search started from. Of ``elements``, ``changed`` are neither those of that
    sample nor zero. ``runs`` are inputs on which both models ran, ``budgets`` those for which a
    budget was derived. ``inputs`` holds the arrays themselves, for a program.
    """

    report: Report
    finding: StressFinding
    output: str | None
    ratio: float
    start_ratio: float
    origin: str
    ranges: tuple[InputRange, ...]
    changed: int
    elements: int
    runs: int
    budgets: int
    gradients: int
    seed: int
    command: str = ""
    file: str | None = None
    skipped: tuple[Skipped, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    version: str = ""
    schema: str = SCHEMA

    @property
    def exit_code(self) -> int:
        """That of the check on the found input."""
        return self.report.exit_code
