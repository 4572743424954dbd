"""The report on one screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.text import Text

from isomorph.core.divergence import Verdict
from isomorph.core.escaping import printable
from isomorph.core.verbosity import Verbosity
from isomorph.reporters._closing import closing
from isomorph.reporters._dataset_summary import over_samples
from isomorph.reporters._decoding import decoding_lines
from isomorph.reporters._environment import sides
from isomorph.reporters._findings import findings, labeled
from isomorph.reporters._lead import lead
from isomorph.reporters._notes import baseline_statuses, notes, stated_facts
from isomorph.reporters._outputs import outputs
from isomorph.reporters._proof import proof_lines
from isomorph.reporters._quantized_tensors import quantized

if TYPE_CHECKING:
    from isomorph.core.report import Report

NARROWEST, USUAL = 40, 100
Sections = Iterator[list[RenderableType]]


class TerminalReporter:
    """One screen: the verdict, the cause, the fix, the numbers, and where both models ran."""

    name = "terminal"
    profile = False
    follows = True

    def __init__(self, verbosity: Verbosity = Verbosity.USUAL) -> None:
        self._verbosity = verbosity

    def with_verbosity(self, verbosity: Verbosity) -> TerminalReporter:
        """The reporter that shows this much."""
        return TerminalReporter(verbosity)

    def render(self, report: Report) -> str:
        """Plain text, as wide as the terminal."""
        return self._drawn(report, color=False)

    def render_styled(self, report: Report) -> str:
        """The same text in color; not knowing is never green."""
        return self._drawn(report, color=True)

    def _drawn(self, report: Report, *, color: bool) -> str:
        width = max(NARROWEST, shutil.get_terminal_size((USUAL, 24)).columns)
        page = StringIO()
        console = Console(
            file=page,
            width=width,
            color_system="standard" if color else None,
            force_terminal=color,
            no_color=not color,
            legacy_windows=False,
            markup=False,
            highlight=False,
            emoji=False,
        )
        for piece in _page(report, width, self._verbosity):
            # A verdict alone is one line, however narrow the terminal is.
            console.print(piece, soft_wrap=self._verbosity is Verbosity.QUIET)
        # Rich fills its columns with spaces up to the edge.
        return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _page(report: Report, width: int, verbosity: Verbosity) -> Iterator[RenderableType]:
    """The lead, then each section that has a line below an empty one."""
    yield from lead(report)
    if verbosity is Verbosity.QUIET:
        return
    if verbosity is Verbosity.BRIEF:
        found = list(findings(report, verbose=False))
        yield from ["", *found] if found else []
        return
    verbose = verbosity is Verbosity.VERBOSE
    brief = report.verdict is Verdict.EQUIVALENT and not verbose
    for section in _brief(report) if brief else _whole(report, width, verbose=verbose):
        if section:
            yield ""
            yield from section


def _brief(report: Report) -> Sections:
    """What is shown of models that agree: what was asked for, and what does not agree."""
    yield list(findings(report, verbose=False))
    yield from _asked_for(report)
    yield [*baseline_statuses(report), *stated_facts(report)]


def _whole(report: Report, width: int, *, verbose: bool) -> Sections:
    """Cause and fix, then the numbers, then where the models ran, then what was not done."""
    yield list(findings(report, verbose=verbose))
    if report.outputs and (verbose or report.verdict is not Verdict.UNKNOWN or _measured(report)):
        yield list(outputs(report.outputs, width, alone=len(report.models) == 1, verbose=verbose))
    yield from _asked_for(report)
    if report.quantization:
        yield list(quantized(report.quantization, width, verbose=verbose))
    yield list(sides(report, width, everything=verbose))
    yield [
        *baseline_statuses(report),
        *stated_facts(report),
        *notes(report, skipped=verbose),
    ]
    yield [Text(closing(report, verbose=verbose), style="dim")]


def _measured(report: Report) -> bool:
    return any(each.observed is not None for each in report.outputs)


def _asked_for(report: Report) -> Sections:
    """Sections that an option of the check asked for."""
    if report.proof is not None:
        yield [labeled(label, printable(text, limit=2000)) for label, text in proof_lines(report)]
    if report.test_set is not None:
        yield [labeled(label, text) for label, text in over_samples(report.test_set)]
    if report.decoding is not None:
        yield [labeled(label, text) for label, text in decoding_lines(report.decoding)]
