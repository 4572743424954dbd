"""A bisection as text: what changed, between which points, and everything that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.bisection import PointKind, SearchOutcome, TrialStatus
from isomorph.core.escaping import printable
from isomorph.reporters.table import columns

if TYPE_CHECKING:
    from isomorph.core.bisection import Bisection, Trial

_REASON = 120
_ALONE = " alone"
_SWITCHED = (PointKind.OPTIMIZERS, PointKind.PASSES)
_HEADS = {
    PointKind.OPTIMIZERS: "point",
    PointKind.PASSES: "pass left out",
    PointKind.OPSETS: "operator set",
}


def as_text(found: Bisection) -> str:
    """The answer first, then the trials in the order of the points."""
    lines = [_headline(found), *_details(found), "", _table(found)]
    if found.reproducer:
        lines += ["", f"reproducer: {printable(found.reproducer)} (README.md says how to run it)"]
    tried = len(found.trials)
    lines += ["", f"{tried} of {len(found.points)} {found.over} tried in {found.seconds:.0f} s"]
    if found.cache:
        lines[-1] += f" · environments in {printable(found.cache)}"
    return "\n".join(lines)


def as_line(trial: Trial) -> str:
    """One trial, as it ends."""
    return f"{printable(trial.point)}: {_answer(trial)} ({trial.seconds:.0f} s)"


def _headline(found: Bisection) -> str:
    what = found.package if found.over is PointKind.RELEASES else f"{found.over} of {found.package}"
    if found.outcome is SearchOutcome.UNDECIDED:
        return f"UNDECIDED: fewer than two of these {found.over} have a verdict ({what})"
    before, after = (found.trial(point) for point in (found.before, found.after))
    assert before is not None
    assert after is not None
    if len(found.points) == 1:
        return f"NO CHANGE: {before.verdict.upper()}, and there is nothing else to try ({what})"
    if found.outcome is SearchOutcome.ENDS_AGREE:
        return (
            f"NO CHANGE: {before.verdict.upper()} with the first ({before.point}) and with the "
            f"last ({after.point}) of {len(found.points)} ({what})"
        )
    if found.over in _SWITCHED:
        return f"{after.verdict.upper()} once {after.point} is off, {before.verdict} before"
    if found.over is PointKind.OPSETS:
        return (
            f"operator set {after.point} is the first with another verdict: "
            f"{after.verdict.upper()}, {before.verdict} with {before.point}"
        )
    return (
        f"{found.package} {after.point} is the first release with another verdict: "
        f"{after.verdict.upper()}, {before.verdict} with {before.point}"
    )


def _details(found: Bisection) -> list[str]:
    lines = []
    if found.without_verdict:
        names = ", ".join(found.without_verdict)
        lines.append(f"  {names} between them: without a verdict, so it may be one of these")
    if found.outcome is SearchOutcome.ENDS_AGREE and len(found.points) > 2:
        lines.append("  what changed and changed back between them is not searched for")
    lines += _other_packages(found)
    alone = found.trial(found.after + _ALONE)
    if alone is not None and alone.verdict:
        lines.append(f"  with {found.after} alone off, the verdict is {alone.verdict}")
    return lines


def _other_packages(found: Bisection) -> list[str]:
    """What else differs between the two environments: the change may come from there."""
    if found.over is not PointKind.RELEASES or found.outcome is not SearchOutcome.FOUND:
        return []
    before, after = (each.packages for each in found.ends)
    names = sorted({*before, *after} - {found.package}, key=str.lower)
    other = [f"{name} {before.get(name, 'absent')} → {after.get(name, 'absent')}"
             for name in names if before.get(name) != after.get(name)]  # fmt: skip
    return [f"  also different there: {printable(', '.join(other))}"] if other else []


def _table(found: Bisection) -> str:
    order = {point: place for place, point in enumerate(found.points)}
    rows = [[_HEADS.get(found.over, found.package), "verdict", "NumPy", ""]]
    for trial in sorted(found.trials, key=lambda each: order.get(each.point, len(order))):
        mark = ""
        if found.outcome is SearchOutcome.FOUND:
            mark = {found.before: "the last before", found.after: "the first after"}.get(
                trial.point, ""
            )
        rows.append([trial.point, _answer(trial), trial.packages.get("numpy", ""), mark])
    return columns([row if any(each[2] for each in rows[1:]) else [row[0], row[1], row[3]]
                    for row in rows])  # fmt: skip


def _answer(trial: Trial) -> str:
    if trial.status is TrialStatus.NOT_INSTALLED:
        return f"not installed: {printable(trial.reason, limit=_REASON)}"
    reason = trial.reason if trial.verdict not in ("equivalent",) else ""
    return f"{trial.verdict.upper()}  {printable(reason, limit=_REASON)}".rstrip()
