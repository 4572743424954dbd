"""Select patches: those that restore the fault in the oracle, the cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.repair_limits import PATCHES_AHEAD, PATCHES_KEPT, PROPOSALS
from isomorph.diagnose.diagnose import EXTENSION_ERRORS

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.patch import Patch
    from isomorph.core.protocols import Fix
    from isomorph.core.report import Finding


def proposed(
    fix: Fix, finding: Finding, context: FaultContext, on_failure: Callable[[str], None]
) -> Iterator[Patch]:
    """The proposals of one fix; a failure of the fix is passed to ``on_failure``, never raised.

    Fixes try extreme values, so floating-point warnings are ignored.
    """
    proposals = fix.propose(finding, context)
    while True:
        try:
            with np.errstate(all="ignore"):
                patch = next(proposals, None)
        except EXTENSION_ERRORS as error:
            on_failure(
                message(
                    "REPAIR.fix_failed", cause=fix.name, error=f"{type(error).__name__}: {error}"
                )
            )
            return
        if patch is None:
            return
        yield patch


def cheapest_first(
    proposals: Iterator[Patch], restores: Callable[[Patch], bool]
) -> Iterator[Patch]:
    """The proposals that restore the fault; of those close to each other, the fewest edits first.

    Fixes propose likely patches before unlikely ones, so only a few more are waited for.
    """
    kept: list[Patch] = []
    since = 0
    for patch in PROPOSALS.first(proposals):
        if restores(patch):
            kept.append(patch)
        since = since + 1 if kept else 0
        if len(kept) >= PATCHES_KEPT or since >= PATCHES_AHEAD:
            yield from sorted(kept, key=lambda each: each.cost)
            kept, since = [], 0
    yield from sorted(kept, key=lambda each: each.cost)


class LazyPatches:
    """A sequence of patches that is computed on demand and kept."""

    def __init__(self, source: Iterator[Patch]) -> None:
        self._source, self._kept = source, list["Patch"]()

    def has(self, place: int) -> bool:
        """Whether there is a patch at this index."""
        while len(self._kept) <= place:
            patch = next(self._source, None)
            if patch is None:
                return False
            self._kept.append(patch)
        return True

    def __getitem__(self, place: int) -> Patch:
        return self._kept[place]


def selections(supplies: Sequence[LazyPatches]) -> Iterator[tuple[int | None, ...]]:
    """Indexes into each sequence: all first ones; then one at a time replaced by its next ones.

    None stands for no patch: what follows from the first fault may look like faults of its own.
    """
    if not supplies:
        return
    yield (0,) * len(supplies)
    if len(supplies) > 1:
        yield (0, *(None for _ in supplies[1:]))
    place = 1
    while any(supply.has(place) for supply in supplies):
        for number, supply in enumerate(supplies):
            if supply.has(place):
                yield tuple(place if each == number else 0 for each in range(len(supplies)))
        place += 1
