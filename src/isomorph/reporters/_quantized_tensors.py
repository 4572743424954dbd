"""The quantized tensors of the candidate: the worst rows of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.quantized_tensor import Interval, QuantizedTensor
from isomorph.reporters._outputs import TABLE_WIDTH

FEW_ROWS, MOST_ROWS = 4, 10
_LOSS_DB = 6.0
"""A bit of precision: what a quantizer loses beyond it against the ideal is worth a color."""

_LEAST_NAME, _GAP = 20, 2


def quantized(
    rows: Sequence[QuantizedTensor], width: int, *, verbose: bool
) -> Iterator[RenderableType]:
    """The worst rows; the report has them worst first."""
    shown = rows[: MOST_ROWS if verbose else FEW_ROWS]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    table.add_column(message("QUANTIZED.tensor"), overflow="fold", min_width=_LEAST_NAME)
    extra = _EXTRA[: sum(width >= least for least, _, _ in _EXTRA)]
    for _, heading, _ in extra:
        table.add_column(heading, no_wrap=True)
    for heading in ("clipped", "used", message("QUANTIZED.ideal"), "quanta"):
        table.add_column(heading, no_wrap=True, justify="right")
    gains = any(row.gain is not None for row in shown)
    if gains:
        table.add_column(message("QUANTIZED.in_float"), no_wrap=True, justify="right")
    remarks = any(
        row.counterpart is not None or row.misread or row.factor is not None for row in rows
    )
    if remarks:
        table.add_column("parameters", overflow="fold")
    cells_of: list[list[str | Text]] = [
        [
            *(cell(row) for _, _, cell in extra),
            _share(row.clipped),
            _share(row.used),
            _sqnr(row),
            _quanta(row),
            *([_gain(row)] if gains else []),
            *([_remark(row)] if remarks else []),
        ]
        for row in shown
    ]
    widest = [max(map(len, map(str, column))) for column in zip(*cells_of, strict=True)]
    titles = [len(str(column.header)) for column in table.columns[1:]]
    free = width - sum(max(pair) + _GAP for pair in zip(widest, titles, strict=True))
    for row, cells in zip(shown, cells_of, strict=True):
        table.add_row(_ends(row.tensor, max(_LEAST_NAME, free - _GAP)), *cells)
    yield table
    if len(rows) > len(shown):
        more = "--format json" if verbose else "-v"
        yield Text(message("QUANTIZED.more", count=len(rows) - len(shown), how=more))


def _ends(name: str, most: int) -> str:
    """A name on one line: a long one by both ends, since fused tensors share their beginnings."""
    shown = printable(name, limit=1000)
    head = most // 3
    return shown if len(shown) <= most else f"{shown[:head]}…{shown[head + 1 - most :]}"


def _type(row: QuantizedTensor) -> str:
    return printable(row.dtype) + (f" ×{row.channels}" if row.channels > 1 else "")


def _interval(ends: Interval | None) -> str:
    return "" if ends is None else f"{ends[0]:.3g} … {ends[1]:.3g}"


def _share(share: float | None) -> str:
    if share is None:
        return ""
    return "<0.1%" if 0 < share < 0.001 else f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _sqnr(row: QuantizedTensor) -> Text:
    text = " ".join(
        shown
        for shown in (_decibels(row.sqnr_db), f"({_decibels(row.ideal_sqnr_db)})")
        if shown not in {"", "()"}
    )
    return Text(text, style="red" if row.lost_db > _LOSS_DB else "")


def _decibels(value: float | None) -> str:
    if value is None:
        return ""
    return "exact" if value == math.inf else f"{value:.1f} dB"


def _remark(row: QuantizedTensor) -> Text:
    parts = [message("QUANTIZED.misread", names=_words(row.misread))] if row.misread else []
    if row.factor is not None:
        parts.append(message("QUANTIZED.factor", factor=row.factor))
    if row.changed:
        parts.append(f"{_words(row.changed)} changed")
    return Text("; ".join(parts), style="red" if row.misread else "")


def _words(fields: Sequence[str]) -> str:
    return ", ".join(fields).replace("_", " ")


def _gain(row: QuantizedTensor) -> Text:
    """By how much the error of the outputs changes with this tensor in float."""
    return Text("" if row.gain is None else f"{-row.gain:+.0%}")


def _quanta(row: QuantizedTensor) -> Text:
    if row.local_quanta is None:
        return Text("")
    return Text(f"{row.local_quanta:.0f}", style="red" if row.local_quanta > 1 else "")


# From which width on, the heading, and what stands below it.
_EXTRA: tuple[tuple[int, str, Callable[[QuantizedTensor], str]], ...] = (
    (TABLE_WIDTH, "type", _type),
    (TABLE_WIDTH, "seen", lambda row: _interval(row.seen)),
    (TABLE_WIDTH + 24, "holds", lambda row: _interval(row.representable)),
)
