"""Pieces of a model that stay open: whoever looks at a tensor comes back to it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

P = TypeVar("P")


class KeptPieces(Generic[P]):
    """The pieces used last, at most ``most``, by what they were cut for."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pieces: OrderedDict[Hashable, P] = OrderedDict()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._pieces)

    def get(self, key: Hashable, opened: Callable[[], P]) -> P:
        """The piece of this key, opened if it is not."""
        if key not in self._pieces:
            self._pieces[key] = opened()
            while len(self._pieces) > self._most:
                self._pieces.popitem(last=False)
        self._pieces.move_to_end(key)
        return self._pieces[key]

    def release(self, key: Hashable) -> None:
        """Close one."""
        del self._pieces[key]

    def clear(self) -> None:
        """Close all."""
        self._pieces.clear()
