"""The report as the output of a notebook's cell: HTML with an inline drawing, and no script.

Notebooks are light or dark without telling the page, so text takes the color around it and only
the verdict has a background of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from isomorph.core.divergence import Verdict
from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.reporters._figures import (
    NOT_MEASURED,
    NOTHING_FINITE,
    number,
    used,
    without_numbers,
)
from isomorph.reporters._lead import explanation
from isomorph.reporters._profile_drawing import profile_drawing
from isomorph.reporters._repair_command import repair_command, repairable

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence, ErrorTerm
    from isomorph.core.report import Finding, Report

MOST_OUTPUTS, MOST_FINDINGS = 5, 5
_COLORS = {
    Verdict.EQUIVALENT: "#1a7f4b",
    Verdict.DEGRADED: "#9a6700",
    Verdict.DIVERGENT: "#c62828",
    Verdict.UNKNOWN: "#7b3fb5",
}
_LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = f"padding:3px 12px 3px 0;text-align:left;{_LINE}"
_CODE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92em"


def notebook_cell(report: Report) -> str:
    """Verdict, models, outputs, findings with their repair, and the error profile if there is one.

    Every name is text: whatever a model calls its nodes, no markup comes out of it.
    """
    parts = [
        _verdict(report),
        _models(report),
        *_outputs(report),
        *_findings(report),
        *_profile(report),
        _foot(report),
    ]
    body = "\n".join(part for part in parts if part)
    style = "font-family:system-ui,sans-serif;font-size:14px;line-height:1.45;max-width:900px"
    return f'<div class="isomorph-report" style="{style}">\n{body}\n</div>'


def _text(words: str, *, limit: int = 400) -> str:
    return escape(printable(words, limit=limit))


def _code(words: str) -> str:
    return f'<code style="{_CODE};background:none;color:inherit">{_text(words)}</code>'


def _verdict(report: Report) -> str:
    word = str(report.verdict).upper()
    style = (
        f"background:{_COLORS[report.verdict]};color:#fff;padding:2px 9px;border-radius:4px;"
        "font-weight:600;letter-spacing:.03em"
    )
    covers = _text(report.headline.removeprefix(word).strip())
    rest = f"{covers}: " if covers else ""
    badge = f'<span style="{style}">{_text(word)}</span>'
    reason = _text(explanation(report), limit=2000)
    return f'<div style="margin:2px 0 6px">{badge} {rest}{reason}</div>'


def _models(report: Report) -> str:
    shown = [
        f"{_code(each.location)} ({_text(each.framework)}, {counted(each.nodes, 'node')})"
        for each in report.models
    ]
    return f'<div style="margin-bottom:6px">{" → ".join(shown)}</div>' if shown else ""


def _table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A table of cells that are HTML already."""
    titles = "".join(f'<th style="{_CELL};font-weight:600">{each}</th>' for each in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;margin:4px 0 8px;background:none;color:inherit;font:inherit"
    head_row = f"<thead><tr>{titles}</tr></thead>"
    table = f'<table style="{style}">{head_row}<tbody>{lines}</tbody></table>'
    # On a narrow screen the table scrolls, and not the notebook.
    return f'<div style="overflow-x:auto">{table}</div>'


def _outputs(report: Report) -> Iterator[str]:
    if not report.outputs:
        return
    head = (
        "output",
        "verdict",
        "translation",
        message("FIGURE.reference_run"),
        message("FIGURE.candidate_run"),
    )
    yield _table(head, [_output(each) for each in report.outputs[:MOST_OUTPUTS]])
    left = len(report.outputs) - MOST_OUTPUTS
    if left > 0:
        yield f"<div>… and {counted(left, 'more output')}</div>"


def _output(output: Divergence) -> list[str]:
    name = output.candidate_output or output.reference_output or "?"
    translation = output.intended_loss or output.rounding or output.translation
    terms = (translation, output.execution_reference, output.execution_candidate)
    if without_numbers(output):
        return [_code(name), _text(str(output.verdict)), *[NOTHING_FINITE] * len(terms)]
    return [_code(name), _text(str(output.verdict)), *map(_term, terms)]


def _term(term: ErrorTerm | None) -> str:
    if term is None:
        return NOT_MEASURED
    size = number(term.distance.max_abs)
    if term.budget.ratio is None:
        return size
    return f"{size}, {_text(used(term.budget))} budget"


def _findings(report: Report) -> Iterator[str]:
    if not report.findings:
        return
    yield '<ol style="margin:4px 0 8px;padding-left:1.6em">'
    yield from (_finding(each) for each in report.findings[:MOST_FINDINGS])
    yield "</ol>"
    left = len(report.findings) - MOST_FINDINGS
    if left > 0:
        more = message(
            "FINDING.more",
            findings=counted(left, message("FINDING.noun")),
            how="report.findings_table()",
        )
        yield f"<div>{more}</div>"
    command = repair_command(report)
    if command is not None and any(repairable(each, report) for each in report.findings):
        yield f'<div style="margin-bottom:6px">repair: {_code(command)}</div>'


def _finding(finding: Finding) -> str:
    facts = [_text(finding.code), f"{finding.status}"]
    if finding.cause:
        facts.append(f"cause {_text(finding.cause)}")
    if finding.local_error is not None:
        facts.append(message("FINDING.own_error", error=number(finding.local_error)))
    lines = [f"<b>{_text(finding.summary, limit=1000)}</b>"]
    if finding.fix:
        lines.append(f"fix: {_text(finding.fix, limit=1000)}")
    source = finding.source
    if source is not None and source.file:
        lines.append(f"source: {_code(f'{source.file}:{source.line or 1}')}")
    lines.append(f'<span style="opacity:.75">{", ".join(facts)}</span>')
    return f'<li style="margin-bottom:4px">{"<br/>".join(lines)}</li>'


def _profile(report: Report) -> Iterator[str]:
    graphs = report.profile.graphs if report.profile is not None else ()
    if not graphs:
        return
    graph = next((each for each in graphs if each.role == "candidate"), graphs[0])
    faulty = {name for finding in report.findings for name in (finding.node, *finding.nodes)}
    yield profile_drawing(graph, {name for name in faulty if name})


def _foot(report: Report) -> str:
    facts = [f"seed {report.seed}"]
    if report.version:
        facts.append(f"isomorph {_text(report.version)}")
    page = message("REPORT.as_page", call=_code("report.save('report.html')"))
    return f'<div style="opacity:.75;font-size:.92em">{", ".join(facts)}; {page}</div>'
