"""Each finding in a few lines: what, the evidence, where, and the command that repairs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from isomorph.core.divergence import Verdict
from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.report import FindingEffect, FindingStatus
from isomorph.reporters._figures import number
from isomorph.reporters._repair_command import needs_report, repair_command, repairable

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report

MARGIN = 10
MOST_FINDINGS = 5
_STATUS = {
    FindingStatus.CONFIRMED: "confirmed",
    FindingStatus.SUSPECTED: message("FINDING.suspected"),
    FindingStatus.REFUTED: "refuted",
}
_EFFECT = {
    FindingEffect.REACHES_OUTPUT: "",
    FindingEffect.BELOW_ROUNDING: message("FINDING.below_rounding"),
    FindingEffect.LATENT: message("FINDING.latent"),
    FindingEffect.NONE: message("FINDING.no_number"),
}


def findings(report: Report, *, verbose: bool) -> Iterator[RenderableType]:
    """The first findings; those of one kind that are a sentence alone share a paragraph.

    Of an unknown verdict the first one alone: what follows from a failure is none of its own.
    """
    groups = _gathered([each for each in report.findings if each.effect != FindingEffect.NONE])
    repair = repair_command(report)
    only_first = report.verdict is Verdict.UNKNOWN and not verbose
    most = 1 if only_first else MOST_FINDINGS
    for place, group in enumerate(groups[:most]):
        if place:
            yield ""
        if len(group) > 1 or _bare(group[0]):
            yield _sentences(group)
            continue
        command = repair if repairable(group[0], report) else None
        yield from _finding(group[0], command, verbose=verbose)
        if command is not None:
            if needs_report(report):
                yield labeled("", message("FINDING.needs_report"))
            repair = None  # one command is for all of them
    left = sum(len(group) for group in groups[most:])
    if left:
        more = "-v" if only_first else "--format json"
        yield ""
        yield f"… and {counted(left, 'more finding')}: {more}"


def labeled(label: str, text: str) -> RenderableType:
    """The label in the margin, with the text wrapped beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(min_width=MARGIN, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(printable(label), style="dim"), Text(text))
    return grid


def _gathered(found: Sequence[Finding]) -> list[list[Finding]]:
    groups: list[list[Finding]] = []
    for finding in found:
        last = groups[-1][0] if groups else None
        if last is not None and _bare(last) and _bare(finding) and _kind(last) == _kind(finding):
            groups[-1].append(finding)
        else:
            groups.append([finding])
    return groups


def _bare(finding: Finding) -> bool:
    return not (finding.node or finding.fix or finding.source or finding.experiments)


def _kind(finding: Finding) -> tuple[str, ...]:
    return finding.code, finding.status, finding.effect, finding.cause or ""


def _sentences(group: Sequence[Finding]) -> Text:
    first, last = group[0], group[-1]
    ranks = f"{first.rank}." if first is last else f"{first.rank}–{last.rank}."
    text = "; ".join(printable(one.summary) for one in group)
    return Text.assemble((ranks, "bold"), f" {text}  ", (f"({_code(first)})", "dim"))


def _code(finding: Finding) -> str:
    """The code and what is known of the finding: ``GUILTY_NODE, confirmed, cause weight``."""
    parts = [printable(finding.code), _STATUS[finding.status], _EFFECT[finding.effect]]
    return ", ".join(filter(None, (*parts, finding.cause and f"cause {finding.cause}")))


def _counterpart(finding: Finding) -> str:
    """The reference's name for a node, unless it is the same."""
    if not finding.reference_nodes:
        return ""
    if finding.reference_nodes == (finding.node,):
        return message("FINDING.as_reference")
    return f" (reference: {', '.join(printable(n, limit=80) for n in finding.reference_nodes[:3])})"


def _finding(finding: Finding, repair: str | None, *, verbose: bool) -> Iterator[RenderableType]:
    yield Text.assemble((f"{finding.rank}.", "bold"), f" {printable(finding.summary, limit=2000)}")
    if finding.fix:
        yield labeled("  fix", printable(finding.fix))
    if repair is not None:
        yield labeled("  repair", repair)
    if finding.node and (verbose or finding.statement is None):
        yield labeled("  node", printable(finding.node) + _counterpart(finding))
    where = finding.evidence.get("where")
    if isinstance(where, Mapping) and where.get("words"):
        yield labeled("  where", printable(str(where["words"])))
    source = finding.source
    if source is not None and (source.file or verbose):
        line = f"{source.file}:{source.line}" if source.file else ""
        parts = (line, source.module and f"in {source.module}", source.text)
        yield labeled("  source", printable("  ".join(part for part in parts if part)))
    evidence = [_code(finding)]
    if verbose and finding.local_error is not None:
        evidence.append(message("FINDING.own_error", error=number(finding.local_error)))
    if verbose and finding.inherited_error is not None:
        evidence.append(f"inherited {number(finding.inherited_error)}")
    yield labeled("  code", printable(", ".join(evidence)))
