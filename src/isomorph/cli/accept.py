"""``isomorph accept``: adds an examined divergence to the baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument, Option
from isomorph.core.baseline import FILE


def accept(
    report: Annotated[Path, Argument(metavar="REPORT", help="A JSON report of a divergent check.")],
    *,
    why: Annotated[str, Option("--why", help="Why this divergence is acceptable.")],
    who: Annotated[
        str | None, Option("--who", help="Who examined it; without it, the user's name.")
    ] = None,
    until: Annotated[
        str | None, Option("--until", metavar="DATE", help="Until when, as 2027-01-31.")
    ] = None,
    pair: Annotated[
        str | None, Option("--pair", help="The pair's name; without it, that of the report.")
    ] = None,
    baseline: Annotated[
        Path | None,
        Option(
            "--baseline",
            help=f"The file that keeps what was accepted; without it, the project's, or {FILE}.",
        ),
    ] = None,
    debug: options.Debug = False,
) -> int:
    """Record an examined divergence: who accepts it, why, until when.

    Its numbers are kept, so that a later check can distinguish unchanged from worse.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.core.messages import message
    from isomorph.store.projects import find_project

    if baseline is None:
        project = find_project(Path.cwd())
        baseline = Path(FILE if project is None else project.baseline)
    entries = api.accept(report, why=why, who=who, until=until, pair=pair, baseline=baseline)
    lines = []
    for entry in entries:
        text = message("ACCEPT.entry", what=entry.what, pair=entry.pair)
        if entry.max_abs is not None:
            text = message("ACCEPT.largest", text=text, largest=entry.max_abs)
        if entry.until:
            text = message("ACCEPT.until", text=text, date=entry.until)
        lines.append(text)
    write("\n".join([*lines, message("ACCEPT.written", file=baseline)]), None)
    return 0
