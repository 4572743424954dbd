"""An interruption that carries the partial report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.report import Report


class InterruptedCheck(KeyboardInterrupt):
    """Ctrl-C during a check; ``report`` holds what was measured."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(report.reason)
