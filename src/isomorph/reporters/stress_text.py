"""The worst input of a pair as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.stress import StressFinding
from isomorph.reporters.table import shape_text

if TYPE_CHECKING:
    from isomorph.core.stress import Stress

_FINDINGS = {
    StressFinding.WITHIN: "STRESS.within",
    StressFinding.DIFFERENT_FUNCTION: "STRESS.different",
    StressFinding.ROUNDING_EXCEEDS_BUDGET: "STRESS.rounding",
    StressFinding.LATENT: "STRESS.latent",
    StressFinding.UNDECIDED: "STRESS.undecided",
}
_TELLING = frozenset({StressFinding.WITHIN, StressFinding.DIFFERENT_FUNCTION})
"""Findings that say what the reason of the verdict would say again."""


def as_text(found: Stress) -> str:
    """How far the models are apart on the input, its check, and what the search did."""
    verdict = found.report.headline
    elements = counted(found.elements, "element")
    key = "STRESS.headline_output" if found.output else "STRESS.headline"
    output = printable(found.output or "")
    origin = printable(found.origin)
    search = message("STRESS.search", ratio=found.start_ratio, origin=origin)
    changed = message("STRESS.input", changed=found.changed, elements=elements)
    lines = [
        message(key, verdict=verdict, ratio=found.ratio, output=output),
        f"  {message(_FINDINGS[found.finding])}",
        *([] if found.finding in _TELLING else [f"  {printable(found.report.reason)}"]),
        "",
        f"  search    {search}",
        f"  input     {changed}",
    ]
    for each in found.ranges:
        text = message(
            "STRESS.range",
            input=f"{printable(each.name)} {each.dtype} {shape_text(each.shape)}",
            lower=each.lower,
            upper=each.upper,
            origin=each.origin,
        )
        lines.append(f"  range     {text}")
    runs, budgets = counted(found.runs, "run"), counted(found.budgets, "budget")
    slopes = counted(found.gradients, "gradient")
    effort = message("STRESS.effort", runs=runs, budgets=budgets, slopes=slopes, seed=found.seed)
    lines.append(f"  effort    {effort}")
    if found.file is not None:
        lines += ["", message("STRESS.written", file=printable(found.file))]
        if found.command:
            command = printable(found.command, limit=2000)
            lines.append(message("STRESS.again", command=command))
    lines += [message("STRESS.skipped", what=each.what, why=each.why) for each in found.skipped]
    return "\n".join(lines)
