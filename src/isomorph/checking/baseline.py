"""Today's divergences against those that were accepted: new, unchanged, worse, expired, fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from isomorph.core.baseline import Accepted, Baseline, BaselineState, BaselineStatus
from isomorph.core.divergence import Divergence, DivergenceKind, Verdict
from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus, Report

_OF_OUTPUTS = frozenset(
    {"TRANSLATION", "EXECUTION", "SHAPE_MISMATCH", "OUTPUT_MISSING", "UNJUDGED", "ORACLE",
     "REFERENCE_EXECUTION"}
)  # fmt: skip
"""Codes of findings that repeat the verdict of an output."""
_CONSTANT = "CONSTANT_DIFFERS"
"""A constant that makes a verdict divergent though no given input shows it."""
_LATENT = "LATENT"
"""A node that makes a verdict divergent where an input that was searched for shows it."""
_Place = tuple[str | None, str | None]
"""The constant or the node that differs by itself."""
_KINDS = {
    DivergenceKind.VALUES: message("BASELINE.values"),
    DivergenceKind.SHAPE: message("BASELINE.shape"),
    DivergenceKind.MISSING: message("BASELINE.missing"),
}


def apply_baseline(
    report: Report,
    baseline: str | Path | None,
    accepted: Sequence[Accepted] | None,
    pair: str | None,
) -> Report:
    """The report with its pair's name and, if a baseline was read, the comparison with it."""
    name = pair or " → ".join(model.location for model in report.models)
    if accepted is None:
        return replace(report, pair=name)
    return compare_with_baseline(
        report, str(baseline), accepted, today=datetime.now(UTC).date(), pair=name
    )


def compare_with_baseline(
    report: Report, file: str, accepted: Sequence[Accepted], *, today: date, pair: str
) -> Report:
    """The report with the state of each divergence relative to the baseline."""
    of_pair = [entry for entry in accepted if entry.pair == pair]
    known = {entry.output: entry for entry in of_pair if not entry.by_itself}
    statuses = [
        _status(each, known.get(_name(each)), report, today)
        for each in report.outputs
        if each.verdict is Verdict.DIVERGENT
    ]
    named = {status.output for status in statuses}
    judged = {_name(each) for each in report.outputs if each.verdict is not Verdict.UNKNOWN}
    statuses += [
        BaselineStatus(
            output=name,
            state=BaselineState.FIXED,
            message=message("BASELINE.fixed"),
            accepted=entry,
        )
        for name, entry in known.items()
        if name not in named and name in judged
    ]
    statuses += _by_themselves(report, [each for each in of_pair if each.by_itself], today)
    return replace(report, pair=pair, baseline=Baseline(file=file, statuses=tuple(statuses)))


def _name(divergence: Divergence) -> str:
    return divergence.candidate_output or divergence.reference_output or ""


def _status(
    divergence: Divergence, entry: Accepted | None, report: Report, today: date
) -> BaselineStatus:
    worse = _worse(divergence, entry) if entry is not None else None
    state, text = _state(report, entry, worse, today)
    return BaselineStatus(output=_name(divergence), state=state, message=text, accepted=entry)


def _state(
    report: Report, entry: Accepted | None, worse: str | None, today: date
) -> tuple[BaselineState, str]:
    """The state of a divergence, with a sentence; ``worse`` describes how it exceeds its entry."""
    if entry is None:
        return BaselineState.NEW, message("BASELINE.new")
    if entry.until is not None and today > date.fromisoformat(entry.until):
        return BaselineState.EXPIRED, message("BASELINE.expired", date=entry.until)
    if (other := _other_finding(report, entry)) is not None:
        return BaselineState.NEW, other
    if worse is not None:
        return BaselineState.WORSE, worse
    return BaselineState.UNCHANGED, message("BASELINE.accepted", who=entry.who, why=entry.why)


def _unshown(report: Report) -> dict[_Place, Finding]:
    """The constants and nodes that make the report divergent by themselves, with their findings.

    Where an output or a constant is divergent, its entry covers nodes that other inputs show.
    """
    if report.verdict is not Verdict.DIVERGENT or report.only_given:
        return {}
    constants: dict[_Place, Finding] = {
        (str(each.fact(Fact.CONSTANT)), None): each
        for each in report.findings
        if each.code == _CONSTANT
    }
    if constants or any(each.verdict is Verdict.DIVERGENT for each in report.outputs):
        return constants
    shown = [each for each in report.findings if each.code == _LATENT and each.node is not None]
    return {(None, each.node): each for each in shown if each.fact(Fact.REACHED_BY) is not None}


def _by_themselves(
    report: Report, entries: Sequence[Accepted], today: date
) -> list[BaselineStatus]:
    """The state of each constant and node that differs or was accepted, with the same values."""
    known: dict[_Place, Accepted] = {(entry.constant, entry.node): entry for entry in entries}
    found, statuses = _unshown(report), []
    for (constant, node), finding in found.items():
        entry = known.get((constant, node))
        worse = _other_values(finding, entry) if entry is not None else None
        state, text = _state(report, entry, worse, today)
        statuses.append(
            BaselineStatus(
                output="", constant=constant, node=node, state=state, message=text, accepted=entry
            )
        )
    compared = report.verdict in {Verdict.EQUIVALENT, Verdict.DEGRADED}
    return statuses + [
        BaselineStatus(
            output="",
            constant=constant,
            node=node,
            state=BaselineState.FIXED,
            message=message("BASELINE.fixed_itself"),
            accepted=entry,
        )
        for (constant, node), entry in known.items()
        if compared and (constant, node) not in found
    ]


def _other_values(finding: Finding, entry: Accepted) -> str | None:
    """How a finding differs from its entry; None if it has the same values and output."""
    if entry.numbers != finding.fact(Fact.NUMBERS):
        return message("BASELINE.other_numbers")
    if entry.node is not None and entry.output != _output(finding):
        return message("BASELINE.other_output", output=_output(finding), before=entry.output)
    return None


def _output(finding: Finding) -> str:
    """The output that shows a node on another input; empty where none is named."""
    return str(finding.fact(Fact.OUTPUT) or "")


def _other_finding(report: Report, entry: Accepted) -> str | None:
    """A description of findings that the entry does not cover, or that vanished; None if neither.

    An entry covers exactly the findings it lists. Without any finding today it is unknown
    whether the divergence is the one that was examined.
    """
    now = _findings(report)
    if entry.findings is None:  # a file of an earlier version lists causes and nodes separately
        causes = Counter(finding.cause or finding.code for finding in _confirmed(report))
        nodes = {finding.node for finding in _confirmed(report) if finding.node}
        further = {*(causes - Counter(entry.causes)), *(nodes - set(entry.nodes))}
    else:
        further = set((Counter(now) - Counter(entry.findings)).keys())
    if further:
        return message("BASELINE.other_finding", findings=", ".join(sorted(further)))
    if entry.findings and not now:
        return message("BASELINE.no_finding", findings=", ".join(entry.findings))
    return None


def _findings(report: Report) -> tuple[str, ...]:
    """The findings that decide the verdict, each as "cause at node"; not those of outputs."""
    places = []
    for finding in report.findings:
        # A difference shown by an input that was searched for can decide the verdict as well.
        shown = finding.code == _CONSTANT or finding.fact(Fact.REACHED_BY) is not None
        decides = finding.effect == FindingEffect.REACHES_OUTPUT or shown
        if not decides or finding.code in _OF_OUTPUTS or finding.status == FindingStatus.REFUTED:
            continue
        place = finding.node or ", ".join(finding.nodes) or ", ".join(finding.tensors)
        places.append(f"{finding.cause or finding.code}{f' at {place}' if place else ''}")
    return tuple(sorted(places))


def _worse(divergence: Divergence, entry: Accepted) -> str | None:
    """How it exceeds its entry by more than rounding explains; None if it does not."""
    part = divergence.observed
    if entry.kind is not None and entry.kind != divergence.kind.value:
        return f"{_KINDS[divergence.kind]}; {_KINDS[DivergenceKind(entry.kind)]} then"
    if entry.kind is None and divergence.kind is DivergenceKind.MISSING:
        return _KINDS[divergence.kind]
    if part is None:
        now = _shape(divergence)
        return (
            None
            if entry.shape == now
            else message("BASELINE.no_distance", now=now, before=entry.shape)
        )
    distance = part.distance
    if entry.shape is not None:
        return message("BASELINE.now_compared")
    if distance.nonfinite_mismatch > entry.nonfinite:
        return message(
            "BASELINE.not_finite", count=distance.nonfinite_mismatch, before=entry.nonfinite
        )
    if distance.max_abs is None:
        before = entry.differing or 0
        text = message("BASELINE.differing", count=distance.differing, before=before)
        return text if distance.differing > before else None
    if entry.max_abs is None:
        return None
    if distance.max_abs > entry.max_abs + (part.budget.allowed_max or 0.0):
        return message("BASELINE.larger", size=distance.max_abs, before=entry.max_abs)
    return None


def _shape(divergence: Divergence) -> str:
    return "×".join(map(str, divergence.shape)) or message("BASELINE.one_value")


def accepted_entries(
    report: Report, *, why: str, who: str, when: date, until: date | None, pair: str
) -> tuple[Accepted, ...]:
    """The baseline entries of a report: one for each divergent output, constant and node."""
    confirmed = _confirmed(report)
    entries = [
        Accepted(
            pair=pair,
            output="" if node is None else _output(finding),
            max_abs=None,
            nonfinite=0,
            causes=(finding.cause or finding.code,),
            nodes=(finding.node,) if finding.node else (),
            why=why,
            who=who,
            when=when.isoformat(),
            until=until.isoformat() if until is not None else None,
            findings=_findings(report),
            constant=constant,
            numbers=finding.fact(Fact.NUMBERS),
            node=node,
        )
        for (constant, node), finding in _unshown(report).items()
    ]
    for each in report.outputs:
        if each.verdict is not Verdict.DIVERGENT:
            continue
        distance = each.observed.distance if each.observed is not None else None
        entry = Accepted(
            pair=pair,
            output=_name(each),
            max_abs=distance.max_abs if distance is not None else None,
            nonfinite=distance.nonfinite_mismatch if distance is not None else 0,
            causes=tuple(sorted(finding.cause or finding.code for finding in confirmed)),
            nodes=tuple(finding.node for finding in confirmed if finding.node),
            why=why,
            who=who,
            when=when.isoformat(),
            until=until.isoformat() if until is not None else None,
            differing=distance.differing if distance and distance.max_abs is None else None,
            shape=_shape(each) if distance is None else None,
            findings=_findings(report),
            kind=each.kind.value,
        )
        entries.append(entry)
    if not entries:
        advice = next((finding.fix for finding in report.findings if finding.fix), None)
        raise UsageError(
            "NOTHING_TO_ACCEPT",
            "no output, constant or node of the report is divergent",
            why=f"the verdict is {report.verdict}: {report.reason}",
            fix=advice if report.verdict is Verdict.DIVERGENT else None,
        )
    return tuple(entries)


def _confirmed(report: Report) -> list[Finding]:
    return [
        finding
        for finding in report.findings
        if finding.status == FindingStatus.CONFIRMED
        and finding.effect == FindingEffect.REACHES_OUTPUT
    ]


def merge_entries(before: Sequence[Accepted], new: Sequence[Accepted]) -> tuple[Accepted, ...]:
    """The old entries, with those for the same pair and output, constant or node replaced."""
    places = {_place(entry) for entry in new}
    kept = [entry for entry in before if _place(entry) not in places]
    return tuple(sorted([*kept, *new], key=_place))


def _place(entry: Accepted) -> tuple[str, str, str, str]:
    output = entry.output if entry.node is None else ""
    return entry.pair, output, entry.constant or "", entry.node or ""
