"""The worst input of a pair as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.reporters.table import shape_text

if TYPE_CHECKING:
    from isomorph.core.stress import Stress


def as_text(found: Stress) -> str:
    """How far the models are apart on the input, its check, and what the search did."""
    verdict = found.report.headline
    elements = counted(found.elements, "element")
    where = f" at output {printable(found.output)}" if found.output else ""
    lines = [
        f"{verdict}: the worst input that was found has {found.ratio:.3g} times its budget{where}",
        f"  {found.finding}",
        f"  {printable(found.report.reason)}",
        "",
        f"  search    from {found.start_ratio:.3g} times the budget ({printable(found.origin)})",
        f"  input     {found.changed} of {elements} neither of that sample nor zero",
    ]
    lines += [
        f"  range     {printable(each.name)} {each.dtype} {shape_text(each.shape)}: "
        f"{each.lower:.4g} … {each.upper:.4g} ({each.origin})"
        for each in found.ranges
    ]
    runs, budgets = counted(found.runs, "run"), counted(found.budgets, "budget")
    slopes = counted(found.gradients, "gradient")
    lines.append(f"  effort    {runs} of both models, {budgets}, {slopes}; seed {found.seed}")
    if found.file is not None:
        lines += ["", f"written to {printable(found.file)}"]
        if found.command:
            lines.append(f"again: {printable(found.command, limit=2000)}")
    lines += [f"skipped: {each.what} ({each.why})" for each in found.skipped]
    return "\n".join(lines)
