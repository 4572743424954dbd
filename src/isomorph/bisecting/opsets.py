"""Operator sets in the order in which they are tried, as a user names them."""

from __future__ import annotations

import re

from isomorph.core.errors import UsageError

_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_LIST = re.compile(r"\d+(?:\s*,\s*\d+)+")
_NEWEST = 1000
"""No operator set has so high a number; a slip of the keys shall not make a long list."""


def chosen_opsets(words: str) -> tuple[str, ...]:
    """The operator sets that ``words`` name, in that order.

    ``9..13`` goes up and ``13..9`` goes down; single ones stand between commas.
    """
    ends = _RANGE.fullmatch(words.strip())
    if ends is not None:
        first, last = int(ends[1]), int(ends[2])
        step = 1 if first <= last else -1
        found = list(range(first, last + step, step)) if max(first, last) < _NEWEST else []
    elif _LIST.fullmatch(words.strip()):
        found = list(dict.fromkeys(int(each) for each in words.split(",")))
    else:
        found = []
    if len(found) < 2 or min(found) < 1:
        raise UsageError(
            "BAD_OPTION",
            f"--versions {words!r} names no operator sets to search",
            why="both ends are needed, as in 9..18 (or 18..9 downward), or two and more between "
            "commas",
            fix="--versions 9..18",
        )
    return tuple(map(str, found))
