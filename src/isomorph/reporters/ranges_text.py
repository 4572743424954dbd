"""The ranges of a model as text or Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.ranges import OpenReason, RangeStatus, steepest
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
        lines.append(message("RANGES.more", tensors=counted(hidden, "tensor")))
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
    behind = sum(each.reason is OpenReason.BEHIND_OVERFLOW for each in found.tensors)
    wrong, unknown = found.count(RangeStatus.OVERFLOW), found.count(RangeStatus.OPEN) - behind
    total, target = (
        counted(len(found.tensors), "tensor"),
        found.target or message("RANGES.declared_type"),
    )
    if wrong:
        name = found.overflows[0].tensor if found.overflows else next(
            each.name for each in found.tensors if each.status is RangeStatus.OVERFLOW
        )  # fmt: skip
        text = message(
            "RANGES.overflow",
            tensor=printable(name),
            dtype=target,
            total=total,
            wrong=wrong,
            open=unknown,
        )
        return message("RANGES.behind", text=text, behind=behind) if behind else text
    if unknown or behind:
        text = message("RANGES.open", open=unknown, total=total, dtype=target)
        return message("RANGES.behind", text=text, behind=behind) if behind else text
    if found.target == "int8":
        return message("RANGES.bounded", total=total)
    return message("RANGES.safe", total=total, dtype=target)


def _heading(found: Ranges) -> Sequence[str]:
    scales = ("scale", message("RANGES.measured_scale")) if found.target == "int8" else ()
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
    place = message("RANGES.input")
    if shown.node:
        place = message("RANGES.node", node=printable(shown.node), op=shown.op)
    parts = [message("RANGES.in_float64", value=shown.value)]
    if shown.run_value is not None:
        parts.append(message("RANGES.in_run", value=shown.run_value))
    if shown.narrow_value is not None:
        parts.append(message("RANGES.in_type", dtype=found.target, value=shown.narrow_value))
    recipe = "RANGES.sample" if shown.given else "RANGES.recipe"
    parts += [*_grown(found), message(recipe, recipe=printable(shown.recipe))]
    if shown.file is not None:
        parts.append(message("CONVERT.written", output=printable(shown.file)))
    key = "RANGES.first_on_samples" if shown.given else "RANGES.of_tensor"
    dtype = found.target or message("RANGES.declared_type")
    heading = message(key, tensor=printable(shown.tensor), place=place, dtype=dtype)
    if found.largest is not None:
        heading = message("RANGES.with_limit", text=heading, largest=found.largest)
    return [heading, *(f"  {each}" for each in parts)]


def _grown(found: Ranges) -> list[str]:
    """Where the numbers of the first overflow come from, and the node where they grow most."""
    if not found.trail:
        return []
    origin, step = found.trail[-1], steepest(found.trail)
    lines = []
    if origin.operand is not None and origin.operand_magnitude is not None:
        lines.append(
            message(
                "RANGES.grown",
                nodes=counted(len(found.trail), "node"),
                tensor=printable(origin.operand),
                largest=origin.operand_magnitude,
            )
        )
    if step is not None and step.operand_magnitude:
        lines.append(
            message(
                "RANGES.most",
                node=printable(step.node),
                op=step.op,
                tensor=printable(str(step.operand)),
                before=step.operand_magnitude,
                after=step.magnitude,
                factor=step.magnitude / step.operand_magnitude,
            )
        )
    return lines


def _powers_of_two(headroom: float | None) -> str:
    if headroom is None:
        return "—"
    return "∞" if math.isinf(headroom) else f"2^{headroom:.1f}"


def _effort(found: Ranges) -> str:
    parts = counted(found.boxes, "part")
    return message(
        "RANGES.effort", parts=parts, runs=counted(found.evaluations, "run"), seed=found.seed
    )


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "—"
    return f"{value:.4g}"
