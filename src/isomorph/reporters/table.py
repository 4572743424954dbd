"""Plain text in columns."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.core.escaping import printable

GAP = "  "


def columns(rows: Sequence[Sequence[str]], *, indent: int = 2) -> str:
    """One line per row; every column but the last is as wide as its longest cell."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = (
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in shown
    )
    return "\n".join((" " * indent + line).rstrip() for line in lines)


def shape_text(shape: Sequence[int | str | None] | None) -> str:
    """``[batch, 3, ?]``; a tensor of unknown rank is ``[…]``."""
    if shape is None:
        return "[…]"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def bytes_text(count: float) -> str:
    """A number of bytes in the largest unit that keeps it above one."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
