"""How far a sweep is, on stderr: one moving line on a terminal, a line for each cell elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

    from isomorph.sweeping.sweep import Progressing


class SweepProgress:
    """Called after each cell; a terminal also sees the time pass between two."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._latest: Progressing | None = None
        self._status: Status | None = None

    def __enter__(self) -> SweepProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            with suppress(OSError):  # the terminal may have been closed meanwhile
                self._status.stop()

    def __call__(self, progress: Progressing) -> None:
        """Show a cell that ended, with the state of all."""
        self._latest = progress
        if sys.stderr.isatty():
            self._move()
            return
        sys.stderr.write(
            f"isomorph: {progress.done} of {progress.total}, {self._left(progress)} left: "
            f"{printable(progress.latest.name)} {progress.latest.outcome}\n"
        )
        sys.stderr.flush()

    def line(self) -> str:
        """Cells done, running and waiting, outcomes, the slowest cell, and what time is left."""
        progress = self._latest
        if progress is None:
            return ""
        waiting = progress.total - progress.done - progress.running
        outcomes = ", ".join(f"{count} {word}" for word, count in progress.outcomes.items())
        slowest = f"{printable(progress.slowest.name, limit=40)} {progress.slowest.seconds:.0f} s"
        return message(
            "SWEEP.progress",
            done=progress.done,
            total=progress.total,
            running=progress.running,
            waiting=max(0, waiting),
            outcomes=outcomes,
            slowest=slowest,
            left=self._left(progress),
        )

    def _left(self, progress: Progressing) -> str:
        spent = self._now() - progress.running_since
        return duration(spent / progress.done * (progress.total - progress.done))

    def _move(self) -> None:
        from rich.console import Console
        from rich.status import Status

        if self._status is None:
            console = Console(stderr=True, highlight=False, markup=False)
            self._status = Status(self._Line(self), console=console, spinner="line")
            self._status.start()

    class _Line:
        """The line of a terminal as it is at the moment."""

        def __init__(self, progress: SweepProgress) -> None:
            self._progress = progress

        def __rich__(self) -> Text:
            from rich.text import Text

            return Text(self._progress.line())


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
