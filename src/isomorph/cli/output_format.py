"""The format of what a command writes: as stated, else by the ending of the file."""

from __future__ import annotations

import difflib
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from isomorph.core import report_formats
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError

TERMINAL = "terminal"
_NEAR = 0.75
"""As much alike are a suffix and one with two letters exchanged; .tmp and .html are not."""
BY_SUFFIX = {**report_formats.BY_SUFFIX, ".csv": "csv"}
ARRAY_SUFFIXES = (".npz", ".npy", ".safetensors")


def format_of(stated: str | None, output: Path | None, known: Sequence[str]) -> str:
    """The stated format, that of the file's ending, or text; it must be one of ``known``."""
    if stated is not None:
        if stated not in known:
            near = difflib.get_close_matches(stated, known, n=1)
            raise error_of(
                UsageError,
                "UNKNOWN_FORMAT.near" if near else "UNKNOWN_FORMAT.stated",
                format=stated,
                known=", ".join(known),
                near=near[0] if near else "",
            )
        return stated
    if output is None:
        return TERMINAL
    if output.suffix.lower() not in BY_SUFFIX:
        _refuse_misleading(output, known)
        return TERMINAL
    found = BY_SUFFIX[output.suffix.lower()]
    if found not in known:
        raise _unwritten(output, found, known)
    return found


def refuse_file_name(folder: Path) -> None:
    """Raise where a folder to be written has the name of a file: a page, a report, arrays."""
    suffix = folder.suffix.lower()
    if not folder.is_dir() and (suffix in BY_SUFFIX or suffix in ARRAY_SUFFIXES):
        raise error_of(
            UsageError, "BAD_OPTION.folder_name", file_name=folder.name, stem=folder.stem
        )


def _refuse_misleading(output: Path, known: Sequence[str]) -> None:
    """Raise where text would get a suffix that is misspelt, or that of another kind of file."""
    suffix = output.suffix.lower()
    near = difflib.get_close_matches(suffix, BY_SUFFIX, n=1, cutoff=_NEAR)
    if near:
        raise error_of(
            UsageError,
            "UNKNOWN_FORMAT.suffix_near",
            file_name=output.name,
            known=", ".join(known),
            near=near[0],
        )
    kind = mimetypes.guess_type(output.name)[0] or "text/"
    if not kind.startswith("text/"):
        raise _unwritten(output, kind, known)


def _unwritten(output: Path, kind: str, known: Sequence[str]) -> UsageError:
    """The error for a file whose suffix is that of a kind which the command does not write."""
    return error_of(
        UsageError,
        "UNKNOWN_FORMAT.other_suffix",
        file_name=output.name,
        kind=kind,
        known=", ".join(known),
        first=known[0],
    )
