"""The text of ``isomorph doctor``: what is installed, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from isomorph.core.installation import InstallationItem, InstallationStatus
from isomorph.reporters.table import columns
from isomorph.reporters.textwrap import wrapped


def as_text(found: Sequence[InstallationItem], *, imported: bool = False) -> str:
    """A table for each kind of item, then one line for each command that would mend something."""
    parts = []
    for kind, group in groupby(found, key=lambda each: each.kind):
        members = list(group)
        # Items without a version or a detail share one line.
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
    if not imported:
        parts.append("versions are those of the metadata; --import also imports every package")
    return "\n".join(parts)


def _plain(each: InstallationItem) -> bool:
    return each.status is InstallationStatus.OK and not (each.version or each.detail)
