"""Progress on stderr, shown once a command has taken longer than two seconds."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 2.0
"""Seconds before the first progress line."""

LOG_GAP = 5.0
"""Seconds between two lines when stderr is not a terminal, so that logs stay short."""


class Progress:
    """Called with a phase and a detail; a line that moves on a terminal, plain lines elsewhere."""

    def __init__(self, *, patience: float = PATIENCE, gap: float = LOG_GAP) -> None:
        self._gap, self._next, self._logged = gap, 0.0, ""
        self._timer = threading.Timer(patience, self._begin)
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

    def _begin(self) -> None:
        with self._lock:
            if self._ended:
                return
            self._begun = True
            self._show()

    def _show(self) -> None:
        if sys.stderr.isatty():
            self._move()
        elif self._phase != self._logged and time.monotonic() >= self._next:
            self._logged = self._phase
            self._next = time.monotonic() + self._gap
            sys.stderr.write(f"isomorph: {printable(self._phase)}\n")
            sys.stderr.flush()

    def _move(self) -> None:
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text

        line = Text(printable(self._phase), style="bold")
        if self._detail:
            line.append(f"  {printable(self._detail, limit=60)}", style="not bold")
        if self._status is None:
            console = Console(stderr=True, highlight=False, markup=False)
            self._status = Status(line, console=console, spinner="line")
            self._status.start()
        else:
            self._status.update(line)
