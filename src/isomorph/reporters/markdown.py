"""The report as Markdown: for a pull request, an issue, or the summary of a workflow step."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.report import FindingEffect
from isomorph.reporters._annotations import title
from isomorph.reporters._figures import used
from isomorph.reporters._proof import (
    assumptions,
    axis_words,
    counts,
    error_probability,
    output_words,
    share,
)
from isomorph.reporters._repair_command import repair_command, repairable

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence, ErrorTerm
    from isomorph.core.report import Finding, Report

MOST_BYTES = 1 << 20
"""What the summary of a workflow step may hold."""
MOST_OUTPUTS, MOST_FINDINGS = 100, 200
_MARKS = {"equivalent": "✅", "degraded": "🟡", "divergent": "❌", "unknown": "❔"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&@#]|^[-+])")


class MarkdownReporter:
    """The verdict, the outputs, and every finding with its evidence; at most 1 MiB."""

    name = "markdown"
    profile = False
    follows = True

    def render(self, report: Report) -> str:
        """Whole findings only: what does not fit is counted."""
        parts = [_head(report), _outputs(report.outputs), _proof(report)]
        size = sum(len(part.encode()) for part in parts)
        shown = 0
        for finding in report.findings[:MOST_FINDINGS]:
            part = "\n".join(_finding(finding)) + "\n"
            size += len(part.encode())
            if size > MOST_BYTES - 4096:
                break
            parts.append(part)
            shown += 1
        if shown < len(report.findings):
            more = message("REPORT.more_findings", count=len(report.findings) - shown)
            parts.append(f"{more}\n")
        parts.append(_foot(report))
        return "\n".join(part for part in parts if part)


def _head(report: Report) -> str:
    mark = _MARKS[str(report.verdict)]
    word = str(report.verdict)
    covers = _plain(report.headline.removeprefix(word.upper()))
    head = f"## {mark} {word.capitalize()}{covers}: {_code(title(report))}\n"
    statuses = report.baseline.statuses if report.baseline is not None else ()
    known = [
        "- "
        + message(
            "REPORT.baseline",
            what=_code(one.output or one.constant or one.node or ""),
            state=one.state,
            message=_plain(one.message),
        )
        for one in statuses
    ]
    return "\n".join([f"{head}\n{_plain(report.reason)}\n", *known, ""] if known else
                     [f"{head}\n{_plain(report.reason)}\n"])  # fmt: skip


def _outputs(outputs: Sequence[Divergence]) -> str:
    if not outputs:
        return ""
    runs = (message("FIGURE.reference_run"), message("FIGURE.candidate_run"))
    columns = ("output", "verdict", "translation", *runs)
    lines = [
        f"| {' | '.join(columns)} |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for one in outputs[:MOST_OUTPUTS]:
        name = one.candidate_output or one.reference_output or "?"
        translation = one.intended_loss or one.rounding or one.translation
        cells = [_cell(part) for part in (translation, one.execution_reference,
                                          one.execution_candidate)]  # fmt: skip
        lines.append(f"| {_code(name)} | {one.verdict} | {' | '.join(cells)} |")
    if len(outputs) > MOST_OUTPUTS:
        lines.append("\n" + message("REPORT.left_outputs", count=len(outputs) - MOST_OUTPUTS))
    return "\n".join(lines) + "\n"


def _proof(report: Report) -> str:
    proof = report.proof
    if proof is None:
        return ""
    section = message("PROVE.section", shapes=_plain(proof.shape_words), counts=counts(proof))
    lines = [f"**Proof** {section}; {share(proof)}.\n"]
    lines += [
        f"- {_code(one.reference)}: {_plain(output_words(one, report))}"
        for one in proof.outputs[:MOST_OUTPUTS]
    ]
    if len(proof.outputs) > MOST_OUTPUTS:
        left = message("REPORT.left_outputs", count=len(proof.outputs) - MOST_OUTPUTS)
        lines.append(f"- {left}")
    facts = [
        message("PROVE.section_size", axis=axis_words(axis)) for axis in proof.axes[:MOST_OUTPUTS]
    ]
    facts.append(message("PROVE.section_assumes", assumptions=assumptions(proof)))
    facts.append(message("PROVE.section_chance", chance=error_probability(proof)))
    lines += [f"- {_plain(each)}" for each in facts]
    return "\n".join(lines) + "\n"


def _cell(part: ErrorTerm | None) -> str:
    if part is None:
        return message("FIGURE.not_measured")
    size = "n/a" if part.distance.max_abs is None else f"{part.distance.max_abs:.3g}"
    ratio = part.budget.ratio
    if ratio is None:
        return size
    return (
        message("FIGURE.none_allowed_of", size=size)
        if ratio == math.inf
        else f"{size}, {used(part.budget)} budget"
    )


def _finding(finding: Finding) -> Iterator[str]:
    where = f" {_code(finding.node)}" if finding.node else ""
    yield f"### {finding.rank}. {_plain(finding.code)}{where}\n"
    yield f"{_plain(finding.summary)}\n"
    effect = (
        message("FINDING.no_number")
        if finding.effect == FindingEffect.NONE
        else finding.effect.replace("_", " ")
    )
    labels = [finding.status, effect]
    if finding.cause:
        labels.insert(0, f"**{_plain(finding.cause)}**")
    yield f"- {', '.join(labels)}"
    if finding.reference_nodes:
        names = ", ".join(_code(name) for name in finding.reference_nodes[:5])
        yield "- " + message("FINDING.in_reference", names=names)
    source = finding.source
    if source is not None and source.file:
        yield f"- source: {_code(f'{source.file}:{source.line}' if source.line else source.file)}"
    if finding.share is not None:
        yield "- " + message("FINDING.share", share=finding.share)
    for one in finding.experiments:
        outcome = (
            message("FINDING.as_predicted") if one.agrees else message("FINDING.not_as_predicted")
        )
        tried = message(
            "FINDING.experiment", change=one.change, predicts=one.predicts, seen=one.seen
        )
        yield f"- {_plain(tried)} ({outcome})"
    if finding.fix:
        yield f"- **fix**: {_plain(finding.fix)}"


def _foot(report: Report) -> str:
    lines = [f"- skipped: {_plain(one.what)}: {_plain(one.why)}" for one in report.skipped[:20]]
    repair = repair_command(report)
    if repair is not None and any(repairable(each, report) for each in report.findings):
        lines.insert(0, f"- repair: {_code(repair)}")
    closing = (
        f"<sub>{message('REPORT.made', seed=report.seed, version=_plain(report.version))}</sub>\n"
    )
    return "\n".join([*lines, "", closing] if lines else [closing])


def _plain(text: str) -> str:
    """Text that stays text: no markup, no mention, no link, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _code(text: str) -> str:
    """A name in its own face; a longer fence than any run of backticks inside it."""
    shown = printable(text, limit=200).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
