"""The errors of each output: a table where there is room, a block each where there is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from isomorph.core.divergence import Divergence, Part, Verdict
from isomorph.core.text import printable
from isomorph.reporters._figures import JUDGEMENT_STYLE, VERDICT_STYLE, judged, seen, size, times

ROOM_FOR_TABLE = 88
MOST_ROWS, MOST_BLOCKS = 8, 3

_WORST_FIRST = (Verdict.DIVERGENT, Verdict.UNKNOWN, Verdict.DEGRADED, Verdict.EQUIVALENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One of the errors: its heading, the yardstick it is judged by, and where it stands."""

    heading: str
    yardstick: str
    part: Callable[[Divergence], Part | None]


COLUMNS = (
    Column(heading="translation", yardstick="allowance", part=lambda one: one.translation),
    Column(heading="vs rounding", yardstick="budget", part=lambda one: one.rounding),
    Column(heading="intended loss", yardstick="budget", part=lambda one: one.intended_loss),
    Column(heading="reference run", yardstick="budget", part=lambda one: one.execution_reference),
    Column(heading="candidate run", yardstick="budget", part=lambda one: one.execution_candidate),
)


def outputs(found: Sequence[Divergence], width: int) -> Iterator[RenderableType]:
    """The worst outputs first; how many are left out is said, and what no output has."""
    ordered = sorted(found, key=lambda one: _WORST_FIRST.index(one.verdict))
    measured = [column for column in COLUMNS if any(column.part(one) for one in found)]
    if width >= ROOM_FOR_TABLE:
        shown = ordered[:MOST_ROWS]
        yield _table(shown, measured)
    else:
        shown = ordered[:MOST_BLOCKS]
        for one in shown:
            yield _block(one, measured)
    rest = ordered[len(shown) :]
    if rest:
        counts = (f"{sum(one.verdict is word for one in rest)} {word}" for word in _WORST_FIRST)
        told = ", ".join(count for count in counts if not count.startswith("0 "))
        yield Text(f"… and {len(rest)} more outputs: {told}")
    absent = [column.heading for column in COLUMNS if column not in measured]
    # A loss is intended only by a candidate of fewer bits; its absence is nothing to report.
    absent = [heading for heading in absent if heading != "intended loss"]
    if absent:
        yield Text(f"not measured: {', '.join(absent)}", style="magenta")


def output_name(one: Divergence) -> str:
    """The reference's name for it, and the candidate's where that is another."""
    names = [name for name in (one.reference_output, one.candidate_output) if name is not None]
    if not names:
        return "?"
    shown = list(dict.fromkeys(printable(name, limit=60) for name in names))
    return " / ".join(shown)


def kind(one: Divergence) -> str:
    """``float32[2, 10]``; of a tensor that nobody computed, not even that is known."""
    if one.dtype == "unknown":
        return one.dtype
    return f"{printable(one.dtype)}[{', '.join(map(str, one.shape))}]"


def _table(shown: Sequence[Divergence], measured: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("output", overflow="fold")
    for column in measured:
        table.add_column(column.heading, no_wrap=True)
    table.add_column("observed", no_wrap=True)
    for one in shown:
        name = Text.assemble((output_name(one), VERDICT_STYLE[one.verdict]), f"\n{kind(one)}")
        cells = [judged(column.part(one), column.yardstick) for column in measured]
        observed = seen(one.observed.distance) if one.observed else "not measured"
        table.add_row(name, *cells, Text(observed))
    return table


def _block(one: Divergence, measured: Sequence[Column]) -> Text:
    text = Text.assemble(
        (output_name(one), VERDICT_STYLE[one.verdict]), f"  {kind(one)}  ", str(one.verdict)
    )
    for column in measured:
        text.append(f"\n  {column.heading:<14} ")
        part = column.part(one)
        if part is None:
            text.append("not measured", style="magenta")
            continue
        style = JUDGEMENT_STYLE[part.budget.within]
        unit = f" {column.yardstick}" if part.budget.ratio is not None else ""
        text.append(f"{size(part):<10}  ").append(f"{times(part.budget.ratio)}{unit}", style=style)
    if one.observed is not None:
        observed = seen(one.observed.distance).replace("\n", "\n" + " " * 17)
        text.append(f"\n  {'observed':<14} {observed}")
    return text
