"""Check where output may be written, before the work is done."""

from __future__ import annotations

import os
from pathlib import Path

from isomorph.core.errors import RefusedError, UsageError
from isomorph.store.atomic import refuse_link


def check_target(output: Path | None, *sources: str | Path | None) -> None:
    """Refuse a target that could not or must not be written, before the work and not after it."""
    if output is None:
        return
    refuse_link(output)
    refuse_overwriting(output, *sources)
    if output.exists() and not output.is_file():
        raise UsageError("OUTPUT_NOT_A_FILE", "the output path is not a file:", file=str(output))
    if not output.parent.is_dir():
        raise UsageError(
            "OUTPUT_NO_FOLDER",
            "the folder of the output does not exist:",
            file=str(output),
            fix=f"mkdir -p {output.parent}",
        )
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise UsageError(
            "OUTPUT_UNWRITABLE",
            "the output cannot be written:",
            file=str(output),
            why=f"nothing can be written in {output.parent.absolute()}",
            fix="name a file in a folder of your own",
        )


def refuse_overwriting(output: Path | None, *sources: str | Path | None) -> None:
    """Refuse to overwrite an input file, even where the user names one."""
    if output is None or not output.exists():
        return
    for source in sources:
        if source is not None and _is_file(source) and output.samefile(source):
            raise RefusedError(
                "OUTPUT_IS_INPUT",
                "refused to overwrite a file that is being read:",
                file=str(output),
                fix="name another file",
            )


def _is_file(source: str | Path) -> bool:
    try:
        return os.path.exists(source)  # noqa: PTH110 - the word may be no path at all
    except ValueError:
        return False
