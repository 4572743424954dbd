"""The order in which substitutions are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from isomorph.core.limits import SUBSTITUTIONS
from isomorph.localize.wrong_position import misplaced
from isomorph.localize.wrong_shape import resized

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search
    from isomorph.localize.substitution import Substitution

FIRST_OF_RIGHT = SUBSTITUTIONS.most // 2
"""Substitutions of right tensors that are tried before those of wrong ones; the others after them.

The sizes of a decoder are equal by accident, so that one may stand for another in very many ways.
"""


def by_turns(
    of_right: Iterable[Iterator[Substitution]], of_wrong: Iterable[Iterator[Substitution]]
) -> Iterator[Iterator[Substitution]]:
    """Yield the layers of right tensors as far as a share of the limit goes, then all others."""
    left, put_off = FIRST_OF_RIGHT, []
    for layer in of_right:
        taken = _Counted(layer)
        yield islice(taken, left)
        left -= taken.count
        put_off.append(layer)
    yield from of_wrong
    yield from put_off


def of_right_tensors(
    search: Search, entries: Sequence[Node], wrong: Sequence[str]
) -> Iterator[Iterator[Substitution]]:
    """Yield substitutions of right tensors, the likeliest first."""
    yield from resized(search, wrong)
    yield from misplaced(search, entries, wrong)
    yield from resized(search, wrong, by_chance=True)


class _Counted:
    """An iterator that counts what was taken from it."""

    def __init__(self, layer: Iterator[Substitution]) -> None:
        self._layer, self.count = layer, 0

    def __iter__(self) -> Iterator[Substitution]:
        return self

    def __next__(self) -> Substitution:
        found = next(self._layer)
        self.count += 1
        return found
