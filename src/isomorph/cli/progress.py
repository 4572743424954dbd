"""Progress on stderr, shown once a command has taken longer than two seconds.

Step, elapsed time, phase and detail: ``step 2 of 4, 12 s: reference: oracle  draw 3 of 10``.
"""

from __future__ import annotations

import sys
import threading
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

DELAY_SECONDS = 2.0
"""Seconds before the first progress line."""

LOG_GAP = 5.0
"""Seconds between two lines when stderr is not a terminal, so that logs stay short."""


class Progress:
    """Called with a phase and a detail; a line that moves on a terminal, plain lines elsewhere."""

    def __init__(
        self,
        *,
        delay: float = DELAY_SECONDS,
        gap: float = LOG_GAP,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now, self._started = now, now()
        self._step = ""
        self._gap, self._next, self._logged = gap, 0.0, ""
        self._timer = threading.Timer(delay, self._begin)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._phase, self._detail = "starting", ""
        self._begun, self._ended = False, False
        self._status: Status | None = None

    def __enter__(self) -> Progress:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._status is not None:
                with suppress(OSError):  # the terminal may have been closed meanwhile
                    self._status.stop()

    def __call__(self, phase: str, detail: str = "") -> None:
        """Show the current phase and what it works on."""
        with self._lock:
            self._phase, self._detail = phase, detail
            if self._begun and not self._ended:
                self._show()

    def step(self, number: int, count: int) -> None:
        """Show that step ``number`` of ``count`` begins."""
        self._step = message("REPORT.step_of", number=number, count=count)

    def _begin(self) -> None:
        with self._lock:
            if self._ended:
                return
            self._begun = True
            self._show()

    def _show(self) -> None:
        if sys.stderr.isatty():
            self._move()
        elif self._phase != self._logged and self._now() >= self._next:
            self._logged = self._phase
            self._next = self._now() + self._gap
            sys.stderr.write(f"isomorph: {self._place()}: {printable(self._phase)}\n")
            sys.stderr.flush()

    def _place(self) -> str:
        return f"{self._step}{self._now() - self._started:.0f} s"

    def _move(self) -> None:
        from rich.console import Console
        from rich.status import Status

        if self._status is None:
            console = Console(stderr=True, highlight=False, markup=False)
            # It is drawn again several times a second, with the elapsed time.
            self._status = Status(self._Line(self), console=console, spinner="line")
            self._status.start()

    class _Line:
        """The line of a terminal as it is at the moment."""

        def __init__(self, progress: Progress) -> None:
            self._progress = progress

        def __rich__(self) -> Text:
            from rich.text import Text

            progress = self._progress
            line = Text(f"{progress._place()}: ")
            line.append(printable(progress._phase), style="bold")
            if progress._detail:
                line.append(f"  {printable(progress._detail, limit=60)}", style="not bold")
            return line
