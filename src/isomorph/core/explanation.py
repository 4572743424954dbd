"""The explanation of a code or cause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A cause, a finding's code or an error's code, explained.

    ``kind`` is ``cause``, ``finding`` or ``error``. ``exit_code`` is that of an error. ``issues``
    are public reports in which this cause was behind it.
    """

    word: str
    kind: str
    what: str
    recognized: str
    do: str
    exit_code: int | None = None
    issues: tuple[str, ...] = ()
