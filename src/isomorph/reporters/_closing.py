"""The last line: the inputs, the seed, the time, and where there is more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.coverage import InputKind
from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.cost import Cost
    from isomorph.core.report import Report

_GENERATED = "generated: "
_MOST_PHASES = 3


def closing(report: Report, *, verbose: bool) -> str:
    """``inputs generated: normal · seed 0 · 2.1 s, 3.0 CPU s (…) · isomorph 0.1.0 · more: -v``."""
    parts = [f"seed {report.seed}"]
    if verbose:
        parts += [
            counted(report.draws, "draw"),
            message("REPORT.false_alarm", chance=report.false_alarm),
        ]
    origins = _origins(report)
    if origins:
        parts.insert(0, "inputs " + "; ".join(printable(origin, limit=120) for origin in origins))
    if report.cost is not None:
        parts.append(_cost(report.cost))
    elif report.elapsed:
        parts.append(f"{sum(report.elapsed.values()):.1f} s")
    if report.version:
        parts.append(f"isomorph {report.version}")
    return " · ".join(
        [*parts, message("REPORT.more_page") if verbose else message("REPORT.more_verbose")]
    )


def _cost(cost: Cost) -> str:
    """``2.1 s, 3.0 CPU s (oracle 1.4, load 0.9, start 0.5)``: the phases with the most."""
    costliest = (f"{each.name} {each.cpu:.1f}" for each in cost.phases[:_MOST_PHASES])
    return message("REPORT.cost", wall=cost.wall, cpu=cost.cpu, phases=", ".join(costliest))


def _origins(report: Report) -> list[str]:
    """Where the inputs came from; those generated in several ways share an entry."""
    # The steps of decoding have a section of their own.
    found = {one.origin: one.kind for one in report.inputs if one.kind != InputKind.DECODED}
    made = [
        each.removeprefix(_GENERATED)
        for each, kind in found.items()
        if kind == InputKind.GENERATED and each.startswith(_GENERATED)
    ]
    rest = sorted(each for each in found if each.removeprefix(_GENERATED) not in made)
    # "normal, seed 0" and "normal, seed 0, batch=1" share their words; sizes come last.
    words = dict.fromkeys(word for each in made for word in each.split(", "))
    words.pop(f"seed {report.seed}", None)
    text = ", ".join(sorted(words, key=lambda word: "=" in word))
    return [*([_GENERATED + text] if made else []), *rest]
