"""What was not done, by its key: the catalog has the texts, a phase has the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.report import Skipped

if TYPE_CHECKING:
    from isomorph.core.limits import Limit
    from isomorph.core.report import ReportSection


def not_done(
    key: str,
    /,
    why: str | None = None,
    *,
    section: ReportSection | None = None,
    **facts: object,
) -> Skipped:
    """An entry of ``skipped``; ``why`` is the sentence of an error where that is the reason."""
    reason = message(f"SKIPPED.{key}.why", **facts) if why is None else why
    what = message(f"SKIPPED.{key}.what", **facts)
    return Skipped(what=what, why=reason, section=section)


def beyond(limit: Limit) -> Skipped:
    """What a limit leaves out, in its own words."""
    return Skipped(what=limit.left_out, why=limit.why)
