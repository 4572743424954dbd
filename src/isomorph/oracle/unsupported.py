"""The error of an oracle for operators without a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isomorph.core.errors import UnreadableModelError, listed


def refuse_undefined(
    missing: Mapping[str, Sequence[str]], *, file: str | None, why: str, fix: str
) -> None:
    """Raise where operators are missing, each with the names of its nodes."""
    if missing:
        raise UnreadableModelError(
            "UNSUPPORTED_OP",
            "the oracle has no definition of an operator",
            file=file,
            where="; ".join(f"{op} at {listed(names)}" for op, names in missing.items()),
            why=why,
            fix=fix,
        )
