"""An examined divergence goes from a JSON report into the baseline file."""

from __future__ import annotations

import getpass
from datetime import UTC, date, datetime
from pathlib import Path

from isomorph.checking.baseline import acceptances, joined
from isomorph.core.baseline import Accepted
from isomorph.core.errors import UsageError
from isomorph.store.baselines import read_baseline, write_baseline
from isomorph.store.reports import read_report


def accepted(
    report: Path, baseline: Path, *, why: str, who: str | None, until: str | None, pair: str | None
) -> tuple[Accepted, ...]:
    """Write an entry for each divergent output of the report; the others stay as they are."""
    if not why.strip():
        raise UsageError("BAD_OPTION", "--why is empty", fix="say why this is acceptable")
    made = read_report(report)
    today = datetime.now(UTC).date()
    entries = acceptances(
        made,
        why=why,
        who=who or _user(),
        when=today,
        until=_date(until, today),
        pair=pair or made.pair,
    )
    before = read_baseline(baseline) if baseline.exists() else ()
    write_baseline(baseline, joined(before, entries))
    return entries


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError(
            "BAD_OPTION", "nobody can be named", why=str(error), fix="say who, with --who NAME"
        ) from error


def _date(word: str | None, today: date) -> date | None:
    if word is None:
        return None
    try:
        until = date.fromisoformat(word)
    except ValueError as error:
        raise UsageError(
            "BAD_OPTION", f"--until {word} is no date", fix="write it as 2027-01-31"
        ) from error
    if until < today:
        raise UsageError("BAD_OPTION", f"--until {word} is past", fix="name a day to come")
    return until
