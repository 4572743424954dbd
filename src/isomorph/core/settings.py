"""The settings of runtimes: the same words for all of them, and none ignored."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from isomorph.core.errors import UsageError


def chosen(runtime: str, settings: Mapping[str, str], key: str, known: Sequence[str]) -> str:
    """The value of a setting, which must be one of ``known``."""
    word = settings[key]
    if word not in known:
        raise unknown(runtime, "value", word, known, of=f" for {key}")
    return word


def thread_count(word: str) -> int | None:
    """A number of threads, or None where none is given."""
    if not word:
        return None
    if not word.isascii() or not word.isdigit() or int(word) < 1:
        raise UsageError(
            "BAD_SETTING",
            f"threads is {word!r}, not a whole number from 1 on",
            fix="--set threads=4, for example",
        )
    return int(word)


def unknown(
    runtime: str, kind: str, word: str, known: Sequence[str], *, of: str = ""
) -> UsageError:
    """The error for a word that this runtime does not know, with the nearest one that it does."""
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=1)
    return UsageError(
        "BAD_SETTING",
        f"runtime {runtime!r} has no {kind} {word!r}{of}",
        why=f"known: {', '.join(known)}",
        fix=f"did you mean {lowered[near[0]]!r}?" if near else None,
    )
