"""The first lines of a report: the verdict, what it covers, and the number that matters most."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import BUG
from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.messages.phrases import percentage
from isomorph.reporters._figures import VERDICT_STYLE
from isomorph.reporters._findings import labeled
from isomorph.reporters._outputs import output_name

if TYPE_CHECKING:
    from isomorph.core.quantized_tensor import QuantizedTensor
    from isomorph.core.report import Report


def lead(report: Report) -> Iterator[RenderableType]:
    """The verdict with its reason; of a loss its size, and the tensor that loses most."""
    word = Text(printable(report.headline), style=VERDICT_STYLE[report.verdict])
    yield Text.assemble(word, f"{aside(report)}  {printable(explanation(report), limit=2000)}")
    if report.verdict is Verdict.DEGRADED:
        weakest = next((each for each in report.quantization if each.lost_db > 0), None)
        if weakest is not None:
            yield labeled("  weakest", _weakest(weakest))


def explanation(report: Report) -> str:
    """The reason of the verdict with the number that matters most: a difference, or a loss."""
    parts = [report.reason]
    if report.verdict is Verdict.DIVERGENT:
        parts.append(difference(report))
    if report.verdict is Verdict.DEGRADED:
        parts = [*quality(report), report.reason]
    return "; ".join(filter(None, parts))


def aside(report: Report) -> str:
    """Why the exit code is not the verdict's, where it is another."""
    if report.exit_code == report.verdict.exit_code:
        return ""
    if report.exit_code == BUG:
        return message("LEAD.against_proof")
    return ", accepted" if report.exit_code == 0 else message("LEAD.not_strictly")


def difference(report: Report) -> str:
    """The output that differs most, by how much, and on how many inputs; empty if not measured."""
    wrong = [each for each in report.outputs if each.verdict is Verdict.DIVERGENT]
    measured = [each for each in wrong if _relative(each) > 0.0]
    if not measured:
        return ""
    worst = max(measured, key=_relative)
    text = message(
        "LEAD.output_differs", output=output_name(worst), size=percentage(_relative(worst))
    )
    covered = report.coverage.outputs if report.coverage is not None else ()
    entry = next((each for each in covered if each.output == worst.reference_output), None)
    if entry is not None and entry.beyond:
        tried = entry.within + entry.beyond + entry.not_compared
        text = message("LEAD.on_inputs", text=text, count=entry.beyond, inputs=_inputs(tried))
    if len(wrong) > 1:
        text = message(
            "LEAD.others", text=text, others=counted(len(wrong) - 1, message("LEAD.output"))
        )
    return text


def _inputs(count: int) -> str:
    return counted(count, "input")


def _relative(one: Divergence) -> float:
    """The distance of the runs, or else of the graphs, relative to the norm of the reference."""
    part = one.observed or one.rounding
    value = part.distance.relative_l2 if part is not None else None
    return value if value is not None and math.isfinite(value) else 0.0


def quality(report: Report) -> Iterator[str]:
    """How often the largest element is the same, or else the signal-to-noise ratio."""
    rates = [
        each.label_agreement
        for each in (report.test_set.outputs if report.test_set is not None else ())
        if each.label_agreement is not None
    ]
    if rates:
        yield message("LEAD.top1", share=min(rates))
    ratios = [
        (each.observed.distance.sqnr_db, output_name(each))
        for each in report.outputs
        if each.observed is not None and each.observed.distance.sqnr_db is not None
    ]
    if ratios:
        decibels, name = min(ratios)
        if math.isfinite(decibels):
            yield message("LEAD.sqnr", decibels=decibels, output=name)


def _weakest(row: QuantizedTensor) -> str:
    text = message(
        "LEAD.weakest",
        tensor=row.tensor,
        decibels=row.sqnr_db,
        ideal=row.ideal_sqnr_db,
        dtype=row.dtype,
    )
    if row.clipped:
        text = message("LEAD.clips", text=text, share=row.clipped)
    return printable(text)
