"""The lines of an error in a terminal: what happened, why, and always what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.errors import IsomorphError


def error_lines(error: IsomorphError) -> tuple[str, ...]:
    """The lines of the error; one without a fix of its own gets the advice of its code."""
    if error.fix:
        return error.lines
    # Only an error needs the table of codes: no command waits for it.
    from isomorph.diagnose.explain import codes

    entry = codes().get(error.code)
    return error.lines if entry is None else (*error.lines, f"  fix: {_as_fix(entry['do'])}")


def _as_fix(advice: str) -> str:
    """The sentence of a table as it stands behind ``fix:``: small, without its period."""
    first, second = advice[:1], advice[1:2]
    small = first.lower() if second.islower() or second == " " else first
    return f"{small}{advice[1:].removesuffix('.')}"
