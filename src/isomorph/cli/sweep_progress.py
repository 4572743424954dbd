"""How far a sweep is, on stderr: one moving line on a terminal, a line for each cell elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from isomorph.cli.moving_line import MovingLine
from isomorph.core.escaping import printable
from isomorph.core.messages import message

if TYPE_CHECKING:
    from rich.text import Text

    from isomorph.sweeping.sweep import Progressing


class SweepProgress:
    """Called after each cell; a terminal also sees the time pass between two."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._latest: Progressing | None = None
        self._line = MovingLine(self._text)

    def __enter__(self) -> SweepProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.stop()

    def __call__(self, progress: Progressing) -> None:
        """Show a cell that ended, with the state of all."""
        self._latest = progress
        if sys.stderr.isatty():
            self._line.show()
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

    def _text(self) -> Text:
        from rich.text import Text

        return Text(self.line())


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
