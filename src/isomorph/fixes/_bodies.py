"""Weights that a loop or branch keeps inside, where the reference hands them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.patch import Patch, SetConstant
from isomorph.stages.align.twins import ways
from isomorph.stages.diagnose import constants

if TYPE_CHECKING:
    from isomorph.core.case import Case


def inside_bodies(case: Case) -> Iterator[Patch]:
    """Constants that a loop or branch keeps inside, and that the reference's is given."""
    theirs = constants.floats(case.reference, case.counterparts)
    for node in case.nodes:
        for key, body in node.bodies.items():
            for name, held in body.constants.items():
                if "float" not in held.dtype or not held.shape:
                    continue
                for other in theirs:
                    right = case.constant(case.reference, other)
                    if right is None or right.size != int(np.prod(held.shape)):
                        continue
                    for moved in ways(right, held.shape):
                        place = f"{node.name}/{key}#0/{name}"
                        yield Patch(
                            summary=f"constant {place!r}: the values of the reference's {other!r}",
                            edits=(SetConstant(tensor=place, value=moved.array(right)),),
                        )
