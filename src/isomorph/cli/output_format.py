"""The format of what a command writes: as stated, else by the ending of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isomorph.core import report_formats

TERMINAL = "terminal"
BY_SUFFIX = {**report_formats.BY_SUFFIX, ".csv": "csv"}


def format_of(stated: str | None, output: Path | None, known: Sequence[str] | None = None) -> str:
    """The stated format, that of the file's ending, or text; ``known`` are those of the command."""
    if stated is not None:
        return stated
    found = BY_SUFFIX.get(output.suffix.lower(), TERMINAL) if output is not None else TERMINAL
    return found if known is None or found in known else TERMINAL
