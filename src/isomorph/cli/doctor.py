"""``isomorph doctor``: what is installed here, and what to install for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from isomorph.cli import options
from isomorph.cli.table import columns
from isomorph.cli.textwrap import wrapped

if TYPE_CHECKING:
    from isomorph.api.doctor import Diagnosis


def doctor(debug: options.Debug = False) -> int:
    """What is installed, does it work, what would bring the rest.

    Exit codes: 0 all that is installed works, 3 something that is installed does not.
    """
    from isomorph.api.doctor import doctor as examine
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress

    with Progress() as progress:
        found = examine(progress)
    write(as_text(found), None)
    return 3 if any(one.status == "broken" for one in found) else 0


def _plain(one: Diagnosis) -> bool:
    return one.status == "ok" and not (one.version or one.detail)


def as_text(found: Sequence[Diagnosis]) -> str:
    """A table for each kind of thing, then one line for each thing to do."""
    parts = []
    for kind, group in groupby(found, key=lambda one: one.kind):
        members = list(group)
        # What is there and has nothing to tell but its name stands in one line.
        plain = [one.name for one in members if _plain(one)]
        rows = [
            (one.status, one.name, one.version or "", one.detail)
            for one in members
            if not _plain(one)
        ]
        parts.append(kind)
        if rows:
            parts.append(columns(rows))
        if plain:
            parts += wrapped([f"  ok  {', '.join(plain)}"])
    # One extra brings several packages; its line is shown once.
    advice: dict[str, list[str]] = {}
    for one in found:
        if one.advice:
            advice.setdefault(one.advice, []).append(one.name)
    if advice:
        todo = [(line, f"for {', '.join(dict.fromkeys(names))}") for line, names in advice.items()]
        parts.append(f"to do\n{columns(todo)}")
    return "\n".join(parts)
