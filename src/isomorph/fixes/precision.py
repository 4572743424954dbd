"""A tensor kept in float32 where a narrower float overflows or is too coarse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.fixes._casts import widened

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.patch import Patch
    from isomorph.core.report import Finding


class Precision:
    """The cast to the narrow type widened or taken out."""

    name = "precision"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """Casts alone: what is stored narrowly is a matter of weights."""
        yield from widened(context, depth=3)
