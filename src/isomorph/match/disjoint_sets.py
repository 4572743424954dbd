"""Disjoint sets of anything that can be a key, joined as it turns out what belongs together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSets(Generic[T]):
    """At first, each member is a set of its own (union-find)."""

    def __init__(self) -> None:
        self._above: dict[T, T] = {}

    def root(self, member: T) -> T:
        """The member that represents the set of this one."""
        way: list[T] = []
        while (above := self._above.get(member, member)) != member:
            way.append(member)
            member = above
        for each in way:
            self._above[each] = member
        return member

    def join(self, members: Iterable[T]) -> None:
        """Merge the sets of these members; the first one's root represents them all."""
        first, *others = (self.root(member) for member in members)
        for each in others:
            if each != first:
                self._above[each] = first
