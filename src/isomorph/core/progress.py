"""Callbacks that show how far a command has come."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class CountsSteps(Protocol):
    """A progress callback that also shows step ``number`` of ``count``."""

    def step(self, number: int, count: int) -> None:
        """Step ``number`` begins."""
        ...


def begin_step(on_progress: object, number: int, count: int) -> None:
    """Tell a progress callback which step begins, if it shows steps."""
    if isinstance(on_progress, CountsSteps):
        on_progress.step(number, count)
