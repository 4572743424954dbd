"""The time before a check begins, while models are loaded: who interrupts it gets a report, too.

Nothing heavy is imported here: it has to be there before anything else is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isomorph.core.chance import FALSE_ALARM
from isomorph.core.divergence import Verdict
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.report import Report, Skipped
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.options import CheckOptions
    from isomorph.sessions.model_handle import ModelHandle


@contextmanager
def kept_from_the_start(options: CheckOptions, opened: Sequence[ModelHandle]) -> Iterator[None]:
    """An interruption carries what is known; ``opened`` are the models loaded by then."""
    started = time.monotonic()
    try:
        yield
    except InterruptedCheck:
        raise  # the check had begun, and tells more
    except KeyboardInterrupt as stop:
        # Two are loaded side by side, and either may be first.
        known = sorted(opened, key=lambda each: each.role != "reference")
        report = Report(
            verdict=Verdict.UNKNOWN,
            reason="interrupted while the models were loaded",
            command="check",
            seed=options.seed,
            draws=0,
            false_alarm=FALSE_ALARM,
            strict=options.strict,
            models=tuple(each.summary for each in known),
            skipped=(Skipped(what="the whole check", why="it was interrupted"),),
            trusted=options.trusted,
            elapsed={"total": time.monotonic() - started},
            version=VERSION,
        )
        raise InterruptedCheck(report) from stop
