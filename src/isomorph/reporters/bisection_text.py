"""A bisection as text: what changed, between which points, and everything that was tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.bisection import PointKind, SearchOutcome, TrialStatus, alone
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.reporters.table import columns

if TYPE_CHECKING:
    from isomorph.core.bisection import Bisection, Trial

_REASON = 120
_FOUND = {
    PointKind.RELEASES: "BISECT.release",
    PointKind.OPSETS: "BISECT.opset",
    PointKind.OPTIMIZERS: "BISECT.switched_off",
    PointKind.PASSES: "BISECT.switched_off",
}
_HEADS = {
    PointKind.OPTIMIZERS: "point",
    PointKind.PASSES: message("BISECT.left_out"),
    PointKind.OPSETS: message("BISECT.operator_set"),
}


def as_text(found: Bisection) -> str:
    """The answer first, then the trials in the order of the points."""
    lines = [_headline(found), *(f"  {each}" for each in _details(found)), "", _table(found)]
    if found.reproducer:
        lines += ["", message("BISECT.reproducer", folder=printable(found.reproducer))]
    effort = message(
        "BISECT.effort",
        tried=len(found.trials),
        count=len(found.points),
        points=found.over,
        seconds=found.seconds,
    )
    if found.cache:
        effort = message("BISECT.cache", text=effort, folder=printable(found.cache))
    return "\n".join([*lines, "", effort])


def as_line(trial: Trial) -> str:
    """One trial, as it ends."""
    return message(
        "BISECT.trial", point=printable(trial.point), answer=_answer(trial), seconds=trial.seconds
    )


def _headline(found: Bisection) -> str:
    of = found.package
    if found.over is not PointKind.RELEASES:
        of = message("BISECT.points_of", points=found.over, package=found.package)
    if found.outcome is SearchOutcome.UNDECIDED:
        return message("BISECT.undecided", points=found.over, of=of)
    before, after = found.ends
    if len(found.points) == 1:
        return message("BISECT.only_one", verdict=before.verdict.upper(), of=of)
    if found.outcome is SearchOutcome.ENDS_AGREE:
        return message(
            "BISECT.ends_agree",
            verdict=before.verdict.upper(),
            before=before.point,
            after=after.point,
            count=len(found.points),
            of=of,
        )
    return message(
        _FOUND[found.over],
        package=found.package,
        verdict=after.verdict.upper(),
        after=after.point,
        before_verdict=before.verdict,
        before=before.point,
    )


def _details(found: Bisection) -> Iterator[str]:
    if found.without_verdict:
        yield message("BISECT.between", points=", ".join(found.without_verdict))
    if found.outcome is SearchOutcome.ENDS_AGREE and len(found.points) > 2:
        yield message("BISECT.not_searched")
    yield from _other_packages(found)
    only = found.trial(alone(found.after))
    if only is not None and only.verdict:
        yield message("BISECT.alone", point=found.after, verdict=only.verdict)


def _other_packages(found: Bisection) -> Iterator[str]:
    """What else differs between the two environments: the change may come from there."""
    if found.over is not PointKind.RELEASES or found.outcome is not SearchOutcome.FOUND:
        return
    before, after = (each.packages for each in found.ends)
    absent = message("BISECT.absent")
    names = sorted({*before, *after} - {found.package}, key=str.lower)
    versions = [(name, before.get(name, absent), after.get(name, absent)) for name in names]
    other = [message("BISECT.package", name=name, before=old, after=new)
             for name, old, new in versions if old != new]  # fmt: skip
    if other:
        yield message("BISECT.other_packages", packages=printable(", ".join(other)))


def _table(found: Bisection) -> str:
    order = {point: place for place, point in enumerate(found.points)}
    rows = [[_HEADS.get(found.over, found.package), "verdict", "NumPy", ""]]
    for trial in sorted(found.trials, key=lambda each: order.get(each.point, len(order))):
        mark = ""
        if found.outcome is SearchOutcome.FOUND:
            marks = {
                found.before: message("BISECT.last_before"),
                found.after: message("BISECT.first_after"),
            }
            mark = marks.get(trial.point, "")
        rows.append([trial.point, _answer(trial), trial.packages.get("numpy", ""), mark])
    return columns([row if any(each[2] for each in rows[1:]) else [row[0], row[1], row[3]]
                    for row in rows])  # fmt: skip


def _answer(trial: Trial) -> str:
    if trial.status is TrialStatus.NOT_INSTALLED:
        return message("BISECT.not_installed", reason=printable(trial.reason, limit=_REASON))
    reason = trial.reason if trial.verdict not in ("equivalent",) else ""
    return f"{trial.verdict.upper()}  {printable(reason, limit=_REASON)}".rstrip()
