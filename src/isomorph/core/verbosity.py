"""How much of a report a reader wants to see."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from isomorph.core.protocols import Reporter


class Verbosity(IntEnum):
    """The amount of text."""

    QUIET = 0
    """The verdict alone."""
    BRIEF = 1
    """The verdict, the cause and the fix: beside a file that holds the rest."""
    USUAL = 2
    """The verdict, the cause, the fix and the numbers; of models that agree the verdict alone."""
    VERBOSE = 3
    """Everything that a screen holds."""


@runtime_checkable
class AdjustableReporter(Protocol):
    """The ability of a reporter to show more or less of a report."""

    def with_verbosity(self, verbosity: Verbosity) -> Reporter:
        """The reporter that shows this much."""
        ...
