"""A report for a check that is interrupted while its models are loaded.

Nothing heavy is imported here, since this runs before anything else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isomorph.core.chance import FALSE_ALARM
from isomorph.core.cost import cost_so_far
from isomorph.core.divergence import Verdict
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Report
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.sessions.model_handle import ModelHandle


@contextmanager
def report_interrupted_load(options: CheckConfig, handles: Sequence[ModelHandle]) -> Iterator[None]:
    """Turn an interruption into one that carries a report; ``handles`` are the models loaded."""
    started = time.monotonic()
    try:
        yield
    except InterruptedCheck:
        raise  # raised inside the check, with a fuller report
    except KeyboardInterrupt as stop:
        # Two models load in parallel, and either may be first.
        known = sorted(handles, key=lambda each: each.role != "reference")
        report = Report(
            verdict=Verdict.UNKNOWN,
            reason=message("UNKNOWN.interrupted_loading"),
            command="check",
            seed=options.seed,
            draws=0,
            false_alarm=FALSE_ALARM,
            strict=options.strict,
            quick=options.quick,
            models=tuple(each.summary for each in known),
            skipped=(not_done("check"),),
            trusted=options.trusted,
            elapsed={"total": time.monotonic() - started},
            cost=cost_so_far(),
            version=VERSION,
        )
        raise InterruptedCheck(report) from stop
