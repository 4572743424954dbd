"""Values kept in a type that holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.fixes._casts import divided, rounded, widened
from isomorph.fixes._other_operator import floored
from isomorph.fixes._ties import halves

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.patch import Patch
    from isomorph.core.report import Finding


class Dtype:
    """A cast widened or taken out, a division made one of floats, a rounding changed."""

    name = "dtype"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """Widen the faulty casts first: that keeps every node in place."""
        yield from widened(context, depth=0)
        yield from floored(context)
        yield from divided(context)
        yield from rounded(context)
        yield from halves(context)
        yield from widened(context, depth=3)
