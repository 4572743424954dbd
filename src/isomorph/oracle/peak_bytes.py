"""How much a run of an oracle holds at most, and so how many runs fit side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from isomorph.core.limits import DRAWS_AT_ONCE_BYTES, KEPT_PLANS
from isomorph.core.memory import share_of_memory


class PeakBytes:
    """The largest number of bytes that the tensors of a run had at a time, by run."""

    def __init__(self) -> None:
        self._peaks: dict[Hashable, int] = {}

    def note(self, run: Hashable, size: int) -> None:
        """What a run held at most."""
        if run not in self._peaks and len(self._peaks) >= KEPT_PLANS:
            self._peaks.clear()
        self._peaks[run] = size

    def runs_at_once(self, run: Hashable) -> int:
        """How many such runs fit: as the last one was, or else the largest of all."""
        size = self._peaks.get(run, max(self._peaks.values(), default=0))
        return max(1, share_of_memory(DRAWS_AT_ONCE_BYTES) // size) if size else 1


def run_key(feeds: Mapping[str, Any], fetch: Sequence[str]) -> Hashable:
    """Equal for runs that compute the same tensors of the same sizes."""
    fed = frozenset((name, getattr(value, "nbytes", 0)) for name, value in feeds.items())
    return fed, tuple(fetch)
