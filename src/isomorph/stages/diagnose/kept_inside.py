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
    from isomorph.core.model import Constant


def inside_bodies(case: Case) -> Iterator[Patch]:
    """Constants that a loop or branch keeps inside, and that the reference's is given.

    The likeliest first: values that the reference lacks and values that are lost, then the same
    values in their own order, then whatever is of one size.
    """
    theirs = [
        case.reference.constants[name]
        for name in constants.floats(case.reference, case.counterparts)
    ]
    kept = [
        (f"{node.name}/{key}#0/{name}", held)
        for node in case.nodes
        for key, body in node.bodies.items()
        for name, held in body.constants.items()
        if "float" in held.dtype and held.shape
    ]
    known = {each.value_digest for each in theirs}
    here = {held.value_digest for _, held in kept}
    couples = [
        (_likelihood(held, other, known, here), place, held, other)
        for place, held in kept
        for other in theirs
        if np.prod(other.shape) == np.prod(held.shape)
    ]
    for _, place, held, other in sorted(couples, key=lambda couple: couple[0]):
        right = case.constant(case.reference, other.name)
        if right is None:
            continue
        for moved in ways(right, held.shape):
            yield Patch(
                summary=f"constant {place!r}: the values of the reference's {other.name!r}",
                edits=(SetConstant(tensor=place, value=moved.array(right)),),
            )


def _likelihood(held: Constant, other: Constant, known: set[str], here: set[str]) -> int:
    """Small where one may well stand for the other."""
    if held.value_digest == other.value_digest:
        return 1
    return 0 if held.value_digest not in known and other.value_digest not in here else 2
