"""The errors of each output: a table where the terminal is wide enough, else a block each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from isomorph.core.divergence import Divergence, ErrorTerm, Verdict
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.reporters._figures import (
    NOT_MEASURED,
    NOTHING_FINITE,
    VERDICT_STYLE,
    seen,
    share,
    size,
    without_numbers,
)

TABLE_WIDTH = 88
MOST_ROWS, MOST_BLOCKS = 6, 3

_WORST_FIRST = (Verdict.DIVERGENT, Verdict.UNKNOWN, Verdict.DEGRADED, Verdict.EQUIVALENT)


Judged = tuple[str, Callable[[Divergence], ErrorTerm | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One of the errors: its heading, and each yardstick that it is compared with."""

    heading: str
    yardsticks: tuple[Judged, ...]

    def parts(self, one: Divergence) -> list[tuple[str, ErrorTerm]]:
        """What was measured of it at one output."""
        found = ((word, part(one)) for word, part in self.yardsticks)
        return [(word, part) for word, part in found if part is not None]


def _translation(one: Divergence, *, float64_rounding: bool) -> ErrorTerm | None:
    part = one.translation
    return part if part and part.budget.float64_rounding is float64_rounding else None


COLUMNS = (
    Column(
        heading="translation",
        yardsticks=(
            ("allowance", lambda one: _translation(one, float64_rounding=False)),
            (message("FIGURE.rounding"), lambda one: _translation(one, float64_rounding=True)),
            ("rounding", lambda one: one.rounding),
            (message("FIGURE.loss"), lambda one: one.intended_loss),
        ),
    ),
    Column(
        heading=message("FIGURE.reference_run"),
        yardsticks=(("budget", lambda one: one.execution_reference),),
    ),
    Column(
        heading=message("FIGURE.candidate_run"),
        yardsticks=(("budget", lambda one: one.execution_candidate),),
    ),
)


def outputs(
    found: Sequence[Divergence], width: int, *, alone: bool = False, verbose: bool = False
) -> Iterator[RenderableType]:
    """The worst outputs first, the number of those left out, and what no output has.

    ``alone``: the model is compared with its own oracle, so there is no other side.
    """
    columns = [
        each for each in COLUMNS if not alone or each.heading == message("FIGURE.candidate_run")
    ]
    ordered = sorted(found, key=lambda one: _WORST_FIRST.index(one.verdict))
    if len(found) > (MOST_ROWS if width >= TABLE_WIDTH else MOST_BLOCKS):
        ordered.sort(key=lambda one: (_WORST_FIRST.index(one.verdict), -_share_of_budget(one)))
    measured = [column for column in columns if any(column.parts(one) for one in found)]
    if width >= TABLE_WIDTH:
        shown = ordered[:MOST_ROWS]
        yield _table(shown, measured, verbose=verbose)
    else:
        shown = ordered[:MOST_BLOCKS]
        for one in shown:
            yield _block(one, measured, verbose=verbose)
    rest = ordered[len(shown) :]
    if rest:
        counts = (f"{sum(one.verdict is word for one in rest)} {word}" for word in _WORST_FIRST)
        text = ", ".join(count for count in counts if not count.startswith("0 "))
        yield Text(message("REPORT.more_outputs_with", count=len(rest), verdicts=text))
    absent = [column.heading for column in columns if column not in measured]
    if absent:
        yield Text(message("FIGURE.not_measured_of", names=", ".join(absent)), style="magenta")


def _share_of_budget(one: Divergence) -> float:
    """How much of what decides it an output takes: of the loss that its width intends, if any."""
    parts = [one.intended_loss] if one.intended_loss else [one.rounding, one.observed]
    return max((part.budget.ratio or 0.0 for part in parts if part is not None), default=0.0)


def output_name(one: Divergence) -> str:
    """The reference's name for it, and the candidate's where that is another."""
    names = [name for name in (one.reference_output, one.candidate_output) if name is not None]
    if not names:
        return "?"
    shown = list(dict.fromkeys(printable(name, limit=60) for name in names))
    return " / ".join(shown)


def kind(one: Divergence) -> str:
    """``float32[2, 10]``; empty for a tensor that was not computed."""
    if one.dtype == "unknown":
        return one.dtype
    return f"{printable(one.dtype)}[{', '.join(map(str, one.shape))}]"


def _table(shown: Sequence[Divergence], measured: Sequence[Column], *, verbose: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("output", overflow="fold")
    for column in measured:
        table.add_column(column.heading, no_wrap=True)
    table.add_column("observed", no_wrap=True)
    for one in shown:
        name = Text.assemble((output_name(one), VERDICT_STYLE[one.verdict]), f"\n{kind(one)}")
        cells = [_cell(one, column.parts(one), verbose=verbose) for column in measured]
        observed = seen(one.observed.distance, verbose=verbose) if one.observed else NOT_MEASURED
        observed = "" if without_numbers(one) else observed
        table.add_row(name, *cells, Text(observed))
    return table


def _cell(one: Divergence, parts: Sequence[tuple[str, ErrorTerm]], *, verbose: bool) -> Text:
    if not parts or without_numbers(one):
        return Text(NOT_MEASURED if not parts else NOTHING_FINITE, style="magenta")
    shares = _shares(parts, verbose=verbose)
    return Text("\n").join([Text(size(parts[0][1])), *shares.values()])


def _shares(parts: Sequence[tuple[str, ErrorTerm]], *, verbose: bool) -> dict[str, Text]:
    """How much of each yardstick is used; the last one decides, and is shown alone by default."""
    judged = [each for each in parts if each[1].budget.ratio is not None] or list(parts)
    shown = parts if verbose else judged[-1:]
    return {text.plain: text for text in (share(part, word) for word, part in shown)}


def _block(one: Divergence, measured: Sequence[Column], *, verbose: bool) -> Text:
    text = Text.assemble(
        (output_name(one), VERDICT_STYLE[one.verdict]), f"  {kind(one)}  ", str(one.verdict)
    )
    for column in measured:
        text.append(f"\n  {column.heading:<14} ")
        parts = column.parts(one)
        if not parts or without_numbers(one):
            text.append(NOT_MEASURED if not parts else NOTHING_FINITE, style="magenta")
            continue
        text.append(f"{size(parts[0][1]):<10}  ")
        shares = _shares(parts, verbose=verbose)
        text.append_text(Text("\n" + " " * 29).join(shares.values()))
    if one.observed is not None and not without_numbers(one):
        observed = seen(one.observed.distance, verbose=verbose).replace("\n", "\n" + " " * 17)
        text.append(f"\n  {'observed':<14} {observed}")
    return text
