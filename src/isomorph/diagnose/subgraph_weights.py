"""Weights that a loop or branch keeps inside, where the reference hands them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.patch import Patch, SetConstant
from isomorph.diagnose import node_constants
from isomorph.match.value_match import ways

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array


def inside_bodies(case: FaultContext) -> Iterator[Patch]:
    """Constants that a loop or branch keeps inside, and that the reference's is given.

    The likeliest first: values that the reference lacks and values that are lost, then the same
    values in their own order, then whatever is of one size.
    """
    theirs = [
        case.reference.constants[name]
        for name in node_constants.floats(case.reference, case.counterparts)
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
        if np.prod(held.shape) in _sizes(other)
    ]
    for _, place, held, other in sorted(couples, key=lambda couple: couple[0]):
        whole = case.constant(case.reference, other.name)
        for right in _of_size(whole, int(np.prod(held.shape))) if whole is not None else ():
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


def _sizes(constant: Constant) -> tuple[int, int]:
    """How many numbers it holds, and how many a row of it: two biases may be kept as one."""
    size = int(np.prod(constant.shape))
    return size, size // max(1, constant.shape[0]) if constant.shape else size


def _of_size(whole: Array, size: int) -> Iterator[Array]:
    """All of a constant, or its rows, whichever is of this size."""
    yield from (whole,) if whole.size == size else whole
