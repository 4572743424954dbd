"""Progress on stderr, shown once a command has taken longer than two seconds.

Step, elapsed time, phase and detail: ``step 2 of 4, 12 s: reference: oracle  draw 3 of 10``.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from isomorph.cli.moving_line import MovingLine
from isomorph.core.escaping import printable
from isomorph.core.messages import message

if TYPE_CHECKING:
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
        self._line = MovingLine(self._text)

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
            self._line.stop()

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
            self._line.show()
        elif self._phase != self._logged and self._now() >= self._next:
            self._logged = self._phase
            self._next = self._now() + self._gap
            sys.stderr.write(f"isomorph: {self._place()}: {printable(self._phase)}\n")
            sys.stderr.flush()

    def _place(self) -> str:
        return f"{self._step}{self._now() - self._started:.0f} s"

    def _text(self) -> Text:
        from rich.text import Text

        line = Text(f"{self._place()}: ")
        line.append(printable(self._phase), style="bold")
        if self._detail:
            line.append(f"  {printable(self._detail, limit=60)}", style="not bold")
        return line
