"""Adding the divergences of a JSON report to a baseline file."""

from __future__ import annotations

import getpass
from datetime import UTC, date, datetime
from pathlib import Path

from isomorph.checking.baseline import accepted_entries, merge_entries
from isomorph.core.baseline import Accepted
from isomorph.core.errors import UsageError
from isomorph.store.baselines import read_baseline, write_baseline
from isomorph.store.reports import read_report


def accept_report(
    report: Path, baseline: Path, *, why: str, who: str | None, until: str | None, pair: str | None
) -> tuple[Accepted, ...]:
    """Write an entry for each divergent output of the report; the others stay as they are."""
    if not why.strip():
        raise UsageError("BAD_OPTION", "--why is empty", fix="give a reason why this is acceptable")
    read = read_report(report)
    today = datetime.now(UTC).date()
    entries = accepted_entries(
        read,
        why=why,
        who=who or _user(),
        when=today,
        until=_date(until, today),
        pair=pair or read.pair,
    )
    before = read_baseline(baseline) if baseline.exists() else ()
    write_baseline(baseline, merge_entries(before, entries))
    return entries


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError(
            "BAD_OPTION",
            "the user's name is unknown",
            why=str(error),
            fix="give it with --who NAME",
        ) from error


def _date(text: str | None, today: date) -> date | None:
    if text is None:
        return None
    try:
        until = date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            "BAD_OPTION", f"--until {text} is no date", fix="write it as 2027-01-31"
        ) from error
    if until < today:
        raise UsageError("BAD_OPTION", f"--until {text} is past", fix="name a day to come")
    return until
