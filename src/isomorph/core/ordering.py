"""Putting things in an order in which each comes after those that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class CircleError(ValueError, Generic[K]):
    """Things that wait for each other; ``circle`` ends with the one that it begins with."""

    def __init__(self, path: list[K], again: K) -> None:
        super().__init__("they wait for each other in a circle")
        around = path[path.index(again) :] if again in path else path[-4:]
        self.circle = [*around[-6:], again]


def dependencies_first(keys: Iterable[K], before: Callable[[K], Iterable[K]]) -> Iterator[K]:
    """Each key after those before it, otherwise in the order given; never recursive."""
    done: set[K] = set()
    for start in keys:
        path = [start]
        entered: set[K] = set()
        while path:
            key = path[-1]
            waiting = [] if key in done else [each for each in before(key) if each not in done]
            if not waiting:
                path.pop()
                if key not in done:
                    done.add(key)
                    yield key
                continue
            if key in entered:
                raise CircleError(path, waiting[0])
            entered.add(key)
            path += reversed(dict.fromkeys(waiting))
