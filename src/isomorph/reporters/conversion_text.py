"""The text of a conversion, as the command line shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from isomorph.core.conversion import AS_IS, HopStatus, KeptReason
from isomorph.core.cpu import CpuScope
from isomorph.core.messages import message
from isomorph.core.report import FindingEffect

if TYPE_CHECKING:
    from isomorph.core.conversion import Conversion, Hop, KeptNode, Route
    from isomorph.core.divergence import Divergence
    from isomorph.core.report import Finding, Report

_MOST_FINDINGS = 3
_MOST_KEPT = 24
_MOST_ALTERNATIVES = 6
_MOST_CHARACTERS = 320
_HOLDS = {
    CpuScope.EVERY: "CONVERT.every_cpu",
    CpuScope.EXACT_SUMS: "CONVERT.exact_cpus",
    CpuScope.UNKNOWN: "CONVERT.this_cpu",
}
_KEPT = {
    KeptReason.OVERFLOW: "CONVERT.kept_overflow",
    KeptReason.READS_OVERFLOW: "CONVERT.kept_reads",
    KeptReason.NEAR_OVERFLOW: "CONVERT.kept_near",
    KeptReason.CONSTANT: "CONVERT.kept_constant",
    KeptReason.ROUNDING: "CONVERT.kept_rounding",
    KeptReason.OPERATOR: "CONVERT.kept_operator",
}


def lines(conversion: Conversion) -> Iterator[str]:
    """The verdict, each hop with its errors, what was lost, what else there was, how to repeat."""
    yield f"{_heading(conversion)}  {conversion.reason}"
    yield ""
    source = conversion.source
    yield "source  " + message(
        "CONVERT.origin", file=source.location, framework=source.framework, count=source.nodes
    )
    for place, hop in enumerate(conversion.chosen, 1):
        yield from _hop_lines(f"hop {place}", hop)
    for hop in conversion.tried:
        yield from _hop_lines("tried", hop)
    lost = dict.fromkeys(each for hop in conversion.chosen for each in hop.lost)
    if lost:
        yield ""
        not_kept = message("CONVERT.not_kept")
        yield from (f"{not_kept:<10}{each}" for each in lost)
    untried = _untried(conversion)
    if untried:
        yield ""
        for route in untried[:_MOST_ALTERNATIVES]:
            yield f"{message('CONVERT.or_by'):<10}{_route(route)}"
    yield ""
    written = conversion.output is not None
    key = "CONVERT.written" if written else "CONVERT.unwritten"
    yield message(key, output=conversion.output)
    if conversion.report_file is not None:
        yield message("CONVERT.report_in", file=conversion.report_file)
    if conversion.repeat:
        yield f"again     {conversion.repeat}"


def _untried(conversion: Conversion) -> list[Route]:
    """The routes that were not tried to their end or to a failure."""
    gone = {
        hop.step
        for hop in conversion.tried
        if hop.status in {HopStatus.FAILED, HopStatus.DIVERGENT}
    }
    gone |= {hop.step for hop in conversion.chosen if not hop.usable}
    steps = {hop.step for hop in conversion.tried}
    return [
        route
        for route in conversion.alternatives
        if not gone & set(route.steps) and not set(route.steps) <= steps
    ]


def _heading(conversion: Conversion) -> str:
    done = conversion.output is not None and conversion.verdict.exit_code == 0
    if done:
        return f"CONVERTED, {conversion.verdict}"
    word = (
        message("CONVERT.not_converted")
        if conversion.output is None
        else message("CONVERT.not_proven")
    )
    return f"{word}, {conversion.verdict}"


def _hop_lines(word: str, hop: Hop) -> Iterator[str]:
    step = hop.step
    width = f", {step.width}" if step.width != AS_IS else ""
    yield (
        f"{word:<6}  {step.source} → {step.target}{width}  "
        + message("CONVERT.hop", converter=step.converter, status=hop.status, seconds=hop.seconds)
    )
    yield from (f"  note    {note}" for note in hop.notes)
    if hop.status != HopStatus.FAILED:
        yield from (f"  with    {workaround.description}" for workaround in hop.workarounds)
    yield from (f"  patch   {patch}" for patch in hop.patches)
    yield from _kept_lines(hop)
    if hop.cpus is not None:
        yield f"  holds   {message(_HOLDS[hop.cpus])}"
    if hop.trouble is not None:
        yield f"  error   [{hop.trouble.code}] {hop.trouble.sentence}"
        if hop.trouble.why:
            yield f"  why     {_short(hop.trouble.why)}"
        if hop.trouble.fix:
            yield f"  fix     {hop.trouble.fix}"
        if hop.trouble.log:
            yield f"  log     … {_short(_last_words(hop.trouble.log))}"
        if hop.workarounds and hop.status == HopStatus.FAILED:
            names = ", ".join(each.name for each in hop.workarounds)
            yield f"  tried   {message('CONVERT.tried', workarounds=names)}"
    if hop.report is not None:
        yield from _measured(hop.report)


def _kept_lines(hop: Hop) -> Iterator[str]:
    """The nodes that stay in float32, each with the reason."""
    if hop.narrowable is None:
        return
    yield f"  float32 {message('CONVERT.float32', kept=len(hop.kept), count=hop.narrowable)}"
    for each in hop.kept[:_MOST_KEPT]:
        why = _why_kept(each, hop.step.width)
        yield f"  kept    {message('CONVERT.kept', node=each.node, op=each.op, why=why)}"
    if len(hop.kept) > _MOST_KEPT:
        yield f"  kept    {message('CONVERT.more_kept', count=len(hop.kept) - _MOST_KEPT)}"
    yield from (f"  skipped {each.what}: {each.why}" for each in hop.skipped)


def _why_kept(kept: KeptNode, width: str) -> str:
    value = f"{kept.value:.4g}" if kept.value is not None else "unknown"
    if kept.reason is KeptReason.ROUNDING and kept.share is None:
        return message("CONVERT.kept_rounding_unknown")
    share = f"{kept.share:.1%}" if kept.share is not None else ""
    return message(_KEPT[kept.reason], tensor=kept.tensor, value=value, dtype=width, share=share)


def _last_words(log: str) -> str:
    """The last line of a log; of a crash, its kind and place."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    fatal = next((line for line in lines if line.startswith("Fatal Python error")), None)
    if fatal is None:
        return lines[-1]
    behind = lines[lines.index(fatal) :]
    return " ".join([fatal, *[line for line in behind if line.startswith("File ")][:1]])


def _short(text: str) -> str:
    """One line of it; the report has the whole."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"


def route_lines(routes: Iterable[Route]) -> Iterator[str]:
    """Each planned route, with what to install for it."""
    yield from map(_route, routes)


def _route(route: Route) -> str:
    if not route.missing:
        return route.words
    return message("CONVERT.lacking", route=route.words, names="; ".join(route.missing))


def _measured(report: Report) -> Iterator[str]:
    for output in report.outputs:
        yield f"  output  {output.reference_output}: {_errors(output)}"
    yield from _sizes(report)
    shown = [finding for finding in report.findings if finding.effect != FindingEffect.NONE]
    yield from (f"  finding {_finding(each)}" for each in shown[:_MOST_FINDINGS])
    if report.verdict.exit_code and not shown:
        yield f"  finding {report.reason}"


def _sizes(report: Report) -> Iterator[str]:
    """The sizes at which an input with open axes was tried."""
    shapes: dict[str, dict[str, None]] = {}
    for each in report.inputs:
        shapes.setdefault(each.name, {})["×".join(map(str, each.shape))] = None
    for name, tried in shapes.items():
        if len(tried) > 1:
            yield f"  sizes   {message('CONVERT.sizes', name=name, sizes=', '.join(tried))}"


def _errors(output: Divergence) -> str:
    """The distance of the two oracles, and that of the two runs."""
    parts = []
    if output.translation is not None:
        parts.append(f"translation {_number(output.translation.distance.max_abs)}")
    if output.intended_loss is not None and output.intended_loss.budget.ratio is not None:
        parts.append(message("CONVERT.of_loss", ratio=output.intended_loss.budget.ratio))
    if output.observed is not None:
        parts.append(f"observed {_number(output.observed.distance.max_abs)}")
    return f"{output.verdict}, {', '.join(parts) or 'nothing was measured'}"


def _number(value: float | None) -> str:
    return (
        message("FIGURE.not_measured") if value is None else "0" if value == 0 else f"{value:.1e}"
    )


def _finding(finding: Finding) -> str:
    cause = f" ({finding.cause})" if finding.cause else ""
    return f"{finding.code}{cause}: {finding.summary}"
