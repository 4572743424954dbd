"""``isomorph doctor``: what is installed here, and what to install for what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Option
from isomorph.reporters.table import columns
from isomorph.reporters.textwrap import wrapped

if TYPE_CHECKING:
    from isomorph.api.doctor import Diagnosis


_NOT_IMPORTED = "versions are those of the metadata; --import also imports every package"


def doctor(
    imports: Annotated[
        bool,
        Option("--import", help="Import every package in a process of its own; takes longer."),
    ] = False,
    debug: options.Debug = False,
) -> int:
    """What is installed, does it work, what to install for what is missing.

    Exit codes: 0 all that is installed works, 3 something that is installed does not.
    """
    from isomorph.api.doctor import doctor as diagnose
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress

    with Progress() as progress:
        found = diagnose(progress, imports=imports)
    text = as_text(found)
    write(text if imports else f"{text}\n{_NOT_IMPORTED}", None)
    return 3 if any(each.status == "broken" for each in found) else 0


def _plain(each: Diagnosis) -> bool:
    return each.status == "ok" and not (each.version or each.detail)


def as_text(found: Sequence[Diagnosis]) -> str:
    """A table for each kind of thing, then each line for each thing to do."""
    parts = []
    for kind, group in groupby(found, key=lambda each: each.kind):
        members = list(group)
        # Entries without a version or a detail share each line.
        plain = [each.name for each in members if _plain(each)]
        rows = [
            (each.status, each.name, each.version or "", each.detail)
            for each in members
            if not _plain(each)
        ]
        parts.append(kind)
        if rows:
            parts.append(columns(rows))
        if plain:
            parts += wrapped([f"  ok  {', '.join(plain)}"])
    # One extra brings several packages; its line is shown once.
    advice: dict[str, list[str]] = {}
    for each in found:
        if each.advice:
            advice.setdefault(each.advice, []).append(each.name)
    if advice:
        todo = [(line, f"for {', '.join(dict.fromkeys(names))}") for line, names in advice.items()]
        parts.append(f"to do\n{columns(todo)}")
    return "\n".join(parts)
