"""A line of a terminal that is drawn again several times a second, so that it shows the time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text


class MovingLine:
    """On stderr, from its first ``show`` to its ``stop``; ``text`` returns what stands there."""

    def __init__(self, text: Callable[[], Text]) -> None:
        self._text = text
        self._status: Status | None = None

    def show(self) -> None:
        """Begin to draw the line, if it is not drawn already."""
        if self._status is not None:
            return
        from rich.console import Console
        from rich.status import Status

        console = Console(stderr=True, highlight=False, markup=False)
        self._status = Status(self, console=console, spinner="line")
        self._status.start()

    def stop(self) -> None:
        """Take the line away."""
        if self._status is not None:
            with suppress(OSError):  # the terminal may have been closed meanwhile
                self._status.stop()

    def __rich__(self) -> Text:
        return self._text()
