"""What changed between two reports, as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.report_diff import Presence
from isomorph.reporters.table import columns

if TYPE_CHECKING:
    from isomorph.core.report_diff import ErrorChange, FactChange, ReportDiff, ReportSide

_ABSENT = "—"
_DIGEST = re.compile("[0-9a-f]{64}")
_LARGE_SHARE = 0.1
"""Phases below this share of both commands are left out, unless all are asked for."""


def as_text(found: ReportDiff, *, verbose: bool = False) -> str:
    """What changed; ``verbose`` also lists what did not."""
    parts = [message("DIFF.nothing_changed") if found.same else "CHANGED"]
    parts.append(columns([_heading("before", found.before), _heading("after", found.after)]))
    for title, lines in (
        ("Outputs", list(_outputs(found, verbose=verbose))),
        ("Findings", list(_findings(found, verbose=verbose))),
        ("Models", _facts(found.models)),
        ("Environments", _facts(found.environments)),
        ("Questions", _facts(found.questions)),
        (message("DIFF.cost"), list(_cost(found, verbose=verbose))),
    ):
        if lines:
            parts += ["", title, *lines]
    return "\n".join(parts)


def _heading(word: str, side: ReportSide) -> tuple[str, ...]:
    return word, side.headline, side.pair, side.location


def _outputs(found: ReportDiff, *, verbose: bool) -> Iterator[str]:
    same = sum(each.presence is Presence.SAME for each in found.outputs)
    for each in found.outputs:
        if each.presence is Presence.SAME and not verbose:
            continue
        verdicts = [str(v) if v is not None else _ABSENT
                    for v in (each.verdict_before, each.verdict_after)]  # fmt: skip
        change = verdicts[0] if verdicts[0] == verdicts[1] else " → ".join(verdicts)
        yield f"  {printable(each.output)}: {change}"
        rows = [_error(error) for error in each.errors if verbose or not error.same]
        if rows:
            yield columns([("", "error", message("DIFF.of_budget")), *rows], indent=4)
    if same and not verbose:
        yield f"  {message('DIFF.the_same', count=same)}"


def _error(error: ErrorChange) -> tuple[str, str, str]:
    return (
        error.term.replace("_", " "),
        f"{_number(error.error_before)} → {_number(error.error_after)}",
        f"{_ratio(error.ratio_before)} → {_ratio(error.ratio_after)}",
    )


def _number(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.3g}×"


def _findings(found: ReportDiff, *, verbose: bool) -> Iterator[str]:
    same = sum(each.presence is Presence.SAME for each in found.findings)
    order = (Presence.NEW, Presence.GONE, Presence.CHANGED, Presence.SAME)
    for presence in order if verbose else order[:-1]:
        for each in found.findings:
            if each.presence is presence:
                status = ""
                if presence is Presence.CHANGED and each.status_before != each.status_after:
                    status = f" ({each.status_before} → {each.status_after})"
                summary = printable(each.summary, limit=300)
                yield f"  {presence:8}{each.code}{status}  {summary}"
    if same and not verbose:
        yield f"  {message('DIFF.the_same', count=same)}"


def _facts(facts: tuple[FactChange, ...]) -> list[str]:
    rows = [(each.of, each.name, _fact(each.before), _fact(each.after)) for each in facts]
    return [columns([("", "", "before", "after"), *rows])] if rows else []


def _fact(value: str | None) -> str:
    """A value as text; of a digest its beginning."""
    if value is None:
        return _ABSENT
    return value[:12] if _DIGEST.fullmatch(value) else value


def _cost(found: ReportDiff, *, verbose: bool) -> Iterator[str]:
    total = max((c.before or 0.0, c.after or 0.0) for c in found.cost)[0] if found.cost else 0.0
    rows = [
        (each.phase, _number(each.before), _number(each.after))
        for each in found.cost
        if verbose or max(each.before or 0.0, each.after or 0.0) >= _LARGE_SHARE * total
    ]
    if rows:
        yield columns([("", "before", "after"), *rows])
