"""TensorFlow's slice by bounds, steps and masks: one rule for arrays and for terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedSlice:
    """Bit k of a mask is about entry k of the bounds.

    ``begins`` and ``ends`` ignore a bound, ``ellipsis`` stands for all axes that have no entry,
    ``news`` makes an axis of size 1, and ``shrinks`` takes one element and drops the axis. An
    ellipsis goes before a new axis, and that before an element.
    """

    begin: Sequence[int]
    end: Sequence[int]
    strides: Sequence[int]
    begins: int = 0
    ends: int = 0
    ellipsis: int = 0
    news: int = 0
    shrinks: int = 0

    def cuts(self, shape: Sequence[int]) -> list[slice | int | None]:
        """As NumPy indexes: None for a new axis, and for each axis a slice or a place.

        A place that counts from the end is counted from the front; it may lie beyond the axis.
        """
        found: list[slice | int | None] = []
        axis = 0
        own = sum(not (self.news | self.ellipsis) >> at & 1 for at in range(len(self.begin)))
        for at, first in enumerate(self.begin):
            if self.ellipsis >> at & 1:
                rest = len(shape) - own
                found += [slice(None)] * rest
                axis += rest
            elif self.news >> at & 1:
                found.append(None)
            else:
                found.append(self._cut(at, first, shape[axis]))
                axis += 1
        return found + [slice(None)] * (len(shape) - axis)

    def _cut(self, at: int, first: int, size: int) -> slice | int:
        if self.shrinks >> at & 1:
            return first + size if first < 0 else first
        low = None if self.begins >> at & 1 else first
        high = None if self.ends >> at & 1 else self.end[at]
        return slice(low, high, self.strides[at])
