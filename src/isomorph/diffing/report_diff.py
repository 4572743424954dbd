"""Compare two reports: verdict, outputs, findings, models, environments and cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

from isomorph.core.report_diff import (
    CostChange,
    ErrorChange,
    FactChange,
    FindingChange,
    OutputChange,
    Presence,
    ReportDiff,
    ReportSide,
)
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.report import Finding, Report
    from isomorph.core.trace import Environment

_TERMS = (
    "translation", "rounding", "intended_loss", "execution_reference", "execution_candidate",
    "observed",
)  # fmt: skip
_MODEL_FACTS = ("location", "framework", "digest", "nodes", "constants", "producer", "form")
_QUESTIONS = ("seed", "false_alarm", "strict", "only_given", "quick", "translation_only")


def diff_reports(
    before: Report, after: Report, *, locations: tuple[str, str] = ("", "")
) -> ReportDiff:
    """Return what changed between two reports; ``locations`` are their files."""
    outputs = tuple(_outputs(before, after))
    findings = tuple(_findings(before, after))
    models = tuple(_models(before, after))
    environments = tuple(_environments(before.environments, after.environments))
    questions = tuple(_questions(before, after))
    same = (
        before.verdict is after.verdict
        and not models
        and not environments
        and not questions
        and all(each.presence is Presence.SAME for each in outputs)
        and all(each.presence is Presence.SAME for each in findings)
    )
    return ReportDiff(
        before=_side(before, locations[0]),
        after=_side(after, locations[1]),
        same=same,
        outputs=outputs,
        findings=findings,
        models=models,
        environments=environments,
        questions=questions,
        cost=tuple(_costs(before, after)),
        version=VERSION,
    )


def _side(report: Report, location: str) -> ReportSide:
    return ReportSide(
        location=location,
        pair=report.pair,
        verdict=report.verdict,
        headline=report.headline,
        reason=report.reason,
        version=report.version,
    )


def _presence(one: object | None, other: object | None, *, same: bool) -> Presence:
    if one is None:
        return Presence.NEW
    if other is None:
        return Presence.GONE
    return Presence.SAME if same else Presence.CHANGED


def _outputs(before: Report, after: Report) -> Iterator[OutputChange]:
    sides = [{_output_name(each): each for each in report.outputs} for report in (before, after)]
    for name in dict.fromkeys((*sides[0], *sides[1])):
        one, other = (side.get(name) for side in sides)
        errors = tuple(_errors(one, other))
        verdicts = [None if each is None else each.verdict for each in (one, other)]
        same = verdicts[0] == verdicts[1] and all(each.same for each in errors)
        yield OutputChange(
            output=name,
            presence=_presence(one, other, same=same),
            verdict_before=verdicts[0],
            verdict_after=verdicts[1],
            errors=errors,
        )


def _output_name(each: Divergence) -> str:
    return each.reference_output or each.candidate_output or ""


def _errors(one: Divergence | None, other: Divergence | None) -> Iterator[ErrorChange]:
    for term in _TERMS:
        found = [None if each is None else getattr(each, term) for each in (one, other)]
        if found[0] is None and found[1] is None:
            continue
        errors = [None if each is None else each.distance.max_abs for each in found]
        ratios = [None if each is None else each.budget.ratio for each in found]
        yield ErrorChange(
            term=term,
            error_before=errors[0],
            error_after=errors[1],
            ratio_before=ratios[0],
            ratio_after=ratios[1],
        )


def _findings(before: Report, after: Report) -> Iterator[FindingChange]:
    """Findings of the second report first, then those that are gone."""
    sides = [_by_key(report) for report in (before, after)]
    for key in dict.fromkeys((*sides[1], *sides[0])):
        one, other = (side.get(key) for side in sides)
        shown = other or one
        if shown is None:
            continue
        same = one is not None and other is not None and (
            one.status == other.status and one.summary == other.summary
        )  # fmt: skip
        yield FindingChange(
            presence=_presence(one, other, same=same),
            code=shown.code,
            cause=shown.cause,
            node=shown.node,
            summary=shown.summary,
            status_before=None if one is None else one.status,
            status_after=None if other is None else other.status,
            error_before=None if one is None else one.local_error,
            error_after=None if other is None else other.local_error,
        )


def _by_key(report: Report) -> dict[Hashable, Finding]:
    """The findings by what they are about; the third of one kind is known as the third."""
    found: dict[Hashable, Finding] = {}
    for each in report.findings:
        key = each.code, each.cause, each.node or tuple(each.nodes) or tuple(each.tensors)
        count = 0
        while (key, count) in found:
            count += 1
        found[key, count] = each
    return found


def _models(before: Report, after: Report) -> Iterator[FactChange]:
    sides = [{each.role: each for each in report.models} for report in (before, after)]
    for role in dict.fromkeys((*sides[0], *sides[1])):
        one, other = (side.get(role) for side in sides)
        facts = [
            {} if each is None else {name: str(getattr(each, name)) for name in _MODEL_FACTS}
            for each in (one, other)
        ]
        yield from _facts(role, *facts)


def _environments(
    before: Mapping[str, Environment], after: Mapping[str, Environment]
) -> Iterator[FactChange]:
    for role in dict.fromkeys((*before, *after)):
        yield from _facts(role, *(_environment(side.get(role)) for side in (before, after)))


def _environment(found: Environment | None) -> dict[str, str]:
    if found is None:
        return {}
    plain = ("runtime", "version", "device", "precision", "threads", "isolation")
    facts = {name: str(getattr(found, name)) for name in plain}
    facts |= {f"setting {key}": value for key, value in found.settings.items()}
    return facts | {key: str(value) for key, value in found.facts.items()}


def _questions(before: Report, after: Report) -> Iterator[FactChange]:
    facts = [
        {name: str(getattr(report, name)) for name in _QUESTIONS}
        | {
            f"input {each.name}": f"{each.dtype} {list(each.shape)} {each.digest[:12]}"
            for each in report.inputs
        }
        for report in (before, after)
    ]
    yield from _facts("check", *facts)


def _facts(of: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[FactChange]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield FactChange(of=of, name=name, before=before.get(name), after=after.get(name))


def _costs(before: Report, after: Report) -> Iterator[CostChange]:
    sides = [_seconds(report) for report in (before, after)]
    for name in dict.fromkeys((*sides[0], *sides[1])):
        yield CostChange(phase=name, before=sides[0].get(name), after=sides[1].get(name))


def _seconds(report: Report) -> dict[str, float]:
    if report.cost is None:
        return dict(report.elapsed)
    return {"total": report.cost.wall} | {each.name: each.wall for each in report.cost.phases}
