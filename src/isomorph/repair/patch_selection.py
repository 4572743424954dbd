"""Which patch to believe: those that heal in small, the cheapest of a few, in a fair order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import PROPOSALS
from isomorph.diagnose.diagnose import EXTENSION_ERRORS

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.patch import Patch
    from isomorph.core.protocols import Fix
    from isomorph.core.report import Finding

_LOOK_AHEAD = 24
"""How many more proposals are tried after one heals, in case a smaller one does too."""
_MOST_KEPT = 4


def proposed(
    fix: Fix, finding: Finding, context: FaultContext, on_failure: Callable[[str], None]
) -> Iterator[Patch]:
    """What one fix proposes, until it has no more or fails; a failure is reported, never raised.

    Fixes try values that nobody would write: what overflows there restores nothing.
    """
    proposals = fix.propose(finding, context)
    while True:
        try:
            with np.errstate(all="ignore"):
                patch = next(proposals, None)
        except EXTENSION_ERRORS as error:
            on_failure(f"the fix for {fix.name} failed: {type(error).__name__}: {error}")
            return
        if patch is None:
            return
        yield patch


def cheapest_first(
    proposals: Iterator[Patch], restores: Callable[[Patch], bool]
) -> Iterator[Patch]:
    """The proposals that heal; of those that stand close together, the one of fewest edits first.

    Fixes propose the likely before the wide, so a long way on nothing better is waited for.
    """
    kept: list[Patch] = []
    since = 0
    for patch in PROPOSALS.first(proposals):
        if restores(patch):
            kept.append(patch)
        since = since + 1 if kept else 0
        if len(kept) >= _MOST_KEPT or since >= _LOOK_AHEAD:
            yield from sorted(kept, key=lambda each: each.cost)
            kept, since = [], 0
    yield from sorted(kept, key=lambda each: each.cost)


class LazyPatches:
    """What an iterator gives, worked out when asked for and kept."""

    def __init__(self, source: Iterator[Patch]) -> None:
        self._source, self._kept = source, list["Patch"]()

    def has(self, place: int) -> bool:
        """Whether there is one at this place."""
        while len(self._kept) <= place:
            patch = next(self._source, None)
            if patch is None:
                return False
            self._kept.append(patch)
        return True

    def __getitem__(self, place: int) -> Patch:
        return self._kept[place]


def selections(supplies: Sequence[LazyPatches]) -> Iterator[tuple[int, ...]]:
    """The first of each; then one of them at a time replaced by its next ones, in turn."""
    if not supplies:
        return
    yield (0,) * len(supplies)
    place = 1
    while any(supply.has(place) for supply in supplies):
        for number, supply in enumerate(supplies):
            if supply.has(place):
                yield tuple(place if each == number else 0 for each in range(len(supplies)))
        place += 1
