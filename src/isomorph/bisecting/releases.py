"""Releases of a package in their order, and the ranges that a user names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isomorph.core.errors import UsageError, listed

_FINAL = re.compile(r"(\d+(?:\.\d+)*)(?:\.post(\d+))?(?:\+[0-9A-Za-z.]+)?")
_BOUND = re.compile(r"\d+(?:\.\d+)*")
_RANGE = ".."


def order(version: str) -> tuple[tuple[int, ...], int] | None:
    """What releases are sorted by; None for one that is not final."""
    match = _FINAL.fullmatch(version)
    if match is None:
        return None
    numbers = tuple(int(part) for part in match[1].split("."))
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers, int(match[2] or -1)


def chosen(known: Sequence[str], words: str) -> tuple[str, ...]:
    """The final releases that ``words`` name, oldest first.

    ``1.17..1.31`` goes from the first 1.17 to the last 1.31; an end may be left out. Single ones
    stand between commas, whether they are known or not: an index may hide what it still has.
    """
    if _RANGE not in words:
        named = [each.strip() for each in words.split(",") if each.strip()]
        if len(named) < 2 or any(order(each) is None for each in named):
            raise _unreadable(words)
        return tuple(sorted(dict.fromkeys(named), key=_order))
    oldest, _, newest = (part.strip() for part in words.partition(_RANGE))
    if any(bound and _BOUND.fullmatch(bound) is None for bound in (oldest, newest)):
        raise _unreadable(words)
    first, last = _numbers(oldest), _numbers(newest)
    found = {
        order(each): each
        for each in known
        if order(each) is not None and _from(each, first) and (not last or _until(each, last))
    }
    if len(found) < 2:
        raise UsageError(
            "TOO_FEW_RELEASES",
            f"fewer than two releases are in {words}",
            why=f"the index has {listed(sorted(filter(order, known), key=_order, reverse=True))}"
            if known
            else "the index lists no release for this Python",
            fix="name a wider range, or another Python with --python",
        )
    return tuple(sorted(found.values(), key=_order))


def _order(version: str) -> tuple[tuple[int, ...], int]:
    found = order(version)
    assert found is not None
    return found


def _numbers(word: str) -> tuple[int, ...]:
    return tuple(int(part) for part in word.split(".")) if word else ()


def _padded(version: str, size: int) -> tuple[int, ...]:
    numbers = _order(version)[0]
    return (numbers + (0,) * size)[:size]


def _from(version: str, first: tuple[int, ...]) -> bool:
    return _padded(version, len(first)) >= first


def _until(version: str, last: tuple[int, ...]) -> bool:
    """1.31.1 is within ..1.31."""
    return _padded(version, len(last)) <= last


def _unreadable(words: str) -> UsageError:
    return UsageError(
        "BAD_OPTION",
        f"--versions {words!r} cannot be read",
        why="expected a range as in 1.17..1.31, or two and more releases as in 1.20.1,1.22.0",
    )
