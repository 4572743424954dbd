"""The format of what a command writes: as stated, else by the ending of the file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from isomorph.core import report_formats
from isomorph.core.errors import UsageError

TERMINAL = "terminal"
BY_SUFFIX = {**report_formats.BY_SUFFIX, ".csv": "csv"}


def format_of(stated: str | None, output: Path | None, known: Sequence[str]) -> str:
    """The stated format, that of the file's ending, or text; it must be one of ``known``."""
    if stated is not None:
        if stated not in known:
            near = difflib.get_close_matches(stated, known, n=1)
            raise UsageError(
                "UNKNOWN_FORMAT",
                f"this command writes no {stated!r}",
                why=_known(known),
                fix=f"did you mean {near[0]!r}?" if near else None,
            )
        return stated
    if output is None or output.suffix.lower() not in BY_SUFFIX:
        return TERMINAL
    found = BY_SUFFIX[output.suffix.lower()]
    if found not in known:
        raise UsageError(
            "UNKNOWN_FORMAT",
            f"{output.name!r} looks like {found}, which this command does not write",
            why=_known(known),
            fix=f"--format {known[0]}, or another suffix",
        )
    return found


def _known(known: Sequence[str]) -> str:
    return f"one of: {', '.join(known)}"
