"""A search for the first point under which the verdict is another one.

Points are releases, optimizers, operator sets, or passes of a converter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SCHEMA = "isomorph.bisection/1"


class PointKind(StrEnum):
    """What the points of a search are."""

    RELEASES = "releases"
    OPTIMIZERS = "optimizers"
    OPSETS = "opsets"
    PASSES = "passes"


class TrialStatus(StrEnum):
    """What became of one point."""

    JUDGED = "judged"
    """It was checked and has a verdict."""
    NOT_INSTALLED = "not-installed"
    """The release could not be installed, or not be imported."""


class SearchOutcome(StrEnum):
    """What the search came to."""

    FOUND = "found"
    """Two neighbors have different verdicts."""
    ENDS_AGREE = "ends-agree"
    """The first and the last point have the same verdict, so there is nothing to search for."""
    UNDECIDED = "undecided"
    """Fewer than two points have a verdict."""


def alone(point: str) -> str:
    """The point at which nothing but what changed the verdict is off."""
    return f"{point} alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One point that was tried. ``verdict`` is empty where it has none; ``reason`` says why."""

    point: str
    status: TrialStatus
    verdict: str = ""
    headline: str = ""
    reason: str = ""
    seconds: float = 0.0
    packages: Mapping[str, str] = field(default_factory=dict)
    """The versions of what decides about the run in its environment."""
    interpreter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """The whole search. ``trials`` are in the order in which they were made."""

    over: PointKind
    package: str
    side: str
    reference: str
    candidate: str
    points: tuple[str, ...]
    trials: tuple[Trial, ...]
    outcome: SearchOutcome
    before: str = ""
    """The last point with the verdict of the first one."""
    after: str = ""
    """The first point with another verdict."""
    without_verdict: tuple[str, ...] = ()
    """Points between these two that have no verdict: the change may be in one of them."""
    converter: str = ""
    """The converter that is called at each point; empty where the models are as given."""
    cache: str = ""
    reproducer: str = ""
    seconds: float = 0.0
    version: str = ""
    schema: str = SCHEMA

    def trial(self, point: str) -> Trial | None:
        """The trial of a point; None where it was not tried."""
        return next((each for each in self.trials if each.point == point), None)

    @property
    def ends(self) -> tuple[Trial, Trial]:
        """The trials of ``before`` and ``after``, of a search that found a change or none."""
        before, after = self.trial(self.before), self.trial(self.after)
        assert before is not None
        assert after is not None
        return before, after

    @property
    def exit_code(self) -> int:
        """0 where the question has an answer, 3 where it has none."""
        return 3 if self.outcome is SearchOutcome.UNDECIDED else 0
