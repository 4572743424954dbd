"""The ranges of a model as text or Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.core.ranges import RangeStatus, steepest
from isomorph.reporters.table import columns, shape_text

if TYPE_CHECKING:
    from isomorph.core.ranges import OverflowInput, Ranges, TensorRange

_SHOWN = 24
"""Tensors of the table unless all are asked for: those that are not safe, then the widest."""


def as_text(found: Ranges, *, everything: bool = False) -> str:
    """The answer, the ranges of the inputs, the tensors, and the input that overflows.

    Tensors are in the order of the graph; where samples were given, those that are not safe come
    first, and then those with the least headroom.
    """
    lines = [headline(found), ""]
    lines += [
        f"  input {printable(each.name)} {each.dtype} {shape_text(each.shape)}: "
        f"{_number(each.lower)} … {_number(each.upper)} ({each.origin})"
        for each in found.inputs
    ]
    rows = _rows(found, everything=everything)
    if rows:
        lines += ["", columns([_heading(found), *rows])]
    hidden = len(found.tensors) - len(rows)
    if hidden:
        lines.append(f"  … and {counted(hidden, 'tensor')} more (--all)")
    for each in found.overflows:
        lines += ["", *_shown_overflow(each, found)]
    lines += [f"note: {printable(each)}" for each in found.notes]
    lines += ["", _effort(found)]
    lines += [f"skipped: {each.what} ({each.why})" for each in found.skipped]
    return "\n".join(lines)


def as_markdown(found: Ranges, *, everything: bool = False) -> str:
    """The same as a table."""
    heading = _heading(found)
    rows = [heading, ["---"] * len(heading), *_rows(found, everything=everything)]
    table = ["| " + " | ".join(printable(cell).replace("|", "\\|") for cell in row) + " |"
             for row in rows]  # fmt: skip
    shown = [line for each in found.overflows for line in ("", *_shown_overflow(each, found))]
    return "\n".join([f"**{headline(found)}**", "", *table, *shown, "", _effort(found)])


def headline(found: Ranges) -> str:
    """One sentence: what is proven."""
    wrong, unknown = found.count(RangeStatus.OVERFLOW), found.count(RangeStatus.OPEN)
    total, target = counted(len(found.tensors), "tensor"), found.target or "its declared type"
    if wrong:
        name = found.overflows[0].tensor if found.overflows else next(
            each.name for each in found.tensors if each.status is RangeStatus.OVERFLOW
        )  # fmt: skip
        first = f"OVERFLOW: {printable(name)} leaves {target}"
        return f"{first}; of {total}, {wrong} overflow, {unknown} open"
    if unknown:
        return f"OPEN: {unknown} of {total} not proven to stay within {target}"
    if found.target == "int8":
        return f"BOUNDED: every one of {total} has a finite bound, and so a scale without clipping"
    return f"SAFE: {total} proven to stay within {target}"


def _heading(found: Ranges) -> Sequence[str]:
    scales = ("scale", "measured scale") if found.target == "int8" else ()
    return ("tensor", "operator", "bound", "measured", *scales, *_headroom(found), "status")


def _headroom(found: Ranges) -> Sequence[str]:
    """The title of a column that is there only where samples were given."""
    return ("headroom",) if any(each.headroom is not None for each in found.tensors) else ()


def _rows(found: Ranges, *, everything: bool) -> list[Sequence[str]]:
    def rank(each: TensorRange) -> tuple[bool, float, float]:
        reach = max(abs(each.lower), abs(each.upper))
        room = math.inf if each.headroom is None else each.headroom
        return each.status is RangeStatus.SAFE, room, -reach

    chosen = list(found.tensors)
    if _headroom(found):
        chosen.sort(key=rank)
    if not everything and len(chosen) > _SHOWN:
        names = {each.name for each in sorted(chosen, key=rank)[:_SHOWN]}
        chosen = [each for each in chosen if each.name in names]
    rows: list[Sequence[str]] = []
    for each in chosen:
        scales = (_number(each.scale), _number(each.measured_scale)) if (
            found.target == "int8"
        ) else ()  # fmt: skip
        room = (_powers_of_two(each.headroom),) if _headroom(found) else ()
        reason = f": {each.reason}" if each.reason is not None else ""
        rows.append(
            (
                each.name,
                each.op or "input",
                f"{_number(each.lower)} … {_number(each.upper)}",
                f"{_number(each.measured_lower)} … {_number(each.measured_upper)}",
                *scales,
                *room,
                f"{each.status}{reason}",
            )
        )
    return rows


def _shown_overflow(shown: OverflowInput, found: Ranges) -> list[str]:
    limit = "" if found.largest is None else f" (largest number: {found.largest:g})"
    where = f"node {printable(shown.node)} ({shown.op})" if shown.node else "an input"
    what = (
        f"first beyond {found.target or 'its type'} on the given samples:"
        if shown.given
        else "overflow of"
    )
    lines = [
        f"{what} {printable(shown.tensor)}, {where}{limit}",
        f"  in float64: {shown.value:.6g}",
    ]
    if shown.run_value is not None:
        lines.append(f"  in the usual run: {shown.run_value:.6g}")
    if shown.narrow_value is not None:
        lines.append(f"  in a run in {found.target}: {shown.narrow_value:.6g}")
    lines += _grown(found)
    word = "sample" if shown.given else "input"
    lines.append(f"  {word}: {printable(shown.recipe)}")
    if shown.file is not None:
        lines.append(f"  written to {printable(shown.file)}")
    return lines


def _grown(found: Ranges) -> list[str]:
    """Where the numbers of the first overflow come from, and the node where they grow most."""
    if not found.trail:
        return []
    origin, step = found.trail[-1], steepest(found.trail)
    lines = []
    if origin.operand is not None and origin.operand_magnitude is not None:
        lines.append(
            f"  grown over {counted(len(found.trail), 'node')} from {printable(origin.operand)} "
            f"(largest {origin.operand_magnitude:.4g})"
        )
    if step is not None and step.operand_magnitude:
        lines.append(
            f"  most at {printable(step.node)} ({step.op}): {step.operand_magnitude:.4g} of "
            f"{printable(str(step.operand))} to {step.magnitude:.4g}, "
            f"{step.magnitude / step.operand_magnitude:.3g} times as large"
        )
    return lines


def _powers_of_two(headroom: float | None) -> str:
    if headroom is None:
        return "—"
    return "∞" if math.isinf(headroom) else f"2^{headroom:.1f}"


def _effort(found: Ranges) -> str:
    parts = counted(found.boxes, "part")
    return (
        f"bounds of {parts} of the ranges; {counted(found.evaluations, 'run')} of the model in "
        f"float64; seed {found.seed}"
    )


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "—"
    return f"{value:.4g}"
