"""Each finding in a few lines: what, the evidence, where, and the command that repairs it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from isomorph.core.divergence import Verdict
from isomorph.core.escaping import printable
from isomorph.core.report import Fact, FindingEffect, ModelForm
from isomorph.measure import run_time_quantizers, underflow
from isomorph.reporters._figures import number

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report

MARGIN = 10
MOST_FINDINGS = 5


def findings(report: Report) -> Iterator[RenderableType]:
    """The first findings; those of one kind that are a sentence alone share a paragraph."""
    groups = _gathered(report.findings)
    repair = repair_command(report)
    for group in groups[:MOST_FINDINGS]:
        yield ""
        if len(group) > 1 or _bare(group[0]):
            yield _sentences(group)
            continue
        yield from _finding(group[0])
        if repair is not None and repairable(group[0]):
            yield labeled("  repair", repair)
            repair = None  # one command is for all of them
    left = sum(len(group) for group in groups[MOST_FINDINGS:])
    if left:
        yield f"… and {left} more findings: --format json"


def repairable(finding: Finding) -> bool:
    """Whether a patch may help; advice about a runtime that crashed is not a patch.

    A constant that its type cannot hold needs another type, which no patch gives it. A declared
    loss of activations is no fault. Some formats cannot be patched in every respect.
    """
    advised = finding.fix is not None and finding.cause is not None
    if finding.fact(Fact.PATCHABLE) is False:
        return False
    return advised and finding.code not in {underflow.CODE, run_time_quantizers.CODE}


def repair_command(report: Report) -> str | None:
    """The command that repairs the candidate.

    None where nothing was found out, where there is no pair, or no way to type it.
    """
    if report.verdict is Verdict.UNKNOWN:
        return None
    places = {m.role: m.location for m in report.models if m.form == ModelForm.FILE}
    if not {"reference", "candidate"} <= places.keys():
        return None
    reference, candidate = (shlex.quote(places[role]) for role in ("reference", "candidate"))
    target = shlex.quote(f"repaired{PurePath(places['candidate']).suffix}")
    command = f"isomorph fix {reference} {candidate} -o {target}"
    return command if printable(command, limit=2000) == command else None


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
    words = f"({', '.join(_labels(first))})"
    return Text.assemble(
        f"{ranks} ", (printable(first.code), "bold"), f"  {text}  ", (words, "dim")
    )


def _labels(finding: Finding) -> list[str]:
    effect = (
        "changes no number"
        if finding.effect == FindingEffect.NONE
        else finding.effect.replace("_", " ")
    )
    return [finding.status, effect, *([f"cause {finding.cause}"] if finding.cause else [])]


def _counterpart(finding: Finding) -> str:
    """The reference's name for a node, unless it is the same."""
    if not finding.reference_nodes:
        return ""
    if finding.reference_nodes == (finding.node,):
        return ", as in the reference"
    return f" (reference: {', '.join(printable(n, limit=80) for n in finding.reference_nodes[:3])})"


def _finding(finding: Finding) -> Iterator[RenderableType]:
    yield Text.assemble(
        f"{finding.rank}. ", (printable(finding.code), "bold"), f"  {printable(finding.summary)}"
    )
    evidence = _labels(finding)
    if finding.local_error is not None:
        evidence.append(f"own error {number(finding.local_error)}")
    if finding.inherited_error is not None:
        evidence.append(f"inherited {number(finding.inherited_error)}")
    yield labeled("  evidence", printable(", ".join(evidence)))
    if finding.node:
        yield labeled("  node", printable(finding.node) + _counterpart(finding))
    where = finding.evidence.get("where")
    if isinstance(where, Mapping) and where.get("words"):
        yield labeled("  where", printable(str(where["words"])))
    source = finding.source
    if source is not None:
        line = f"{source.file}:{source.line}" if source.file else ""
        parts = (line, source.module and f"in {source.module}", source.text)
        yield labeled("  source", printable("  ".join(part for part in parts if part)))
    if finding.fix:
        yield labeled("  fix", printable(finding.fix))
