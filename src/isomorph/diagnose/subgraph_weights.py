"""Weights that a loop or branch keeps inside, where the reference hands them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant
from isomorph.diagnose import node_constants
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Constant
    from isomorph.core.trace import Array


def inside_bodies(context: FaultContext) -> Iterator[Patch]:
    """Constants that a loop or branch keeps inside, and that the reference's is given.

    The likeliest first: values that the reference lacks and values that are lost, then the same
    values in their own order, then whatever is of one size.
    """
    ref_constants = [
        context.reference.constants[name]
        for name in node_constants.floats(context.reference, context.counterparts)
    ]
    kept = [
        (f"{node.name}/{key}#0/{name}", constant)
        for node in context.nodes
        for key, body in node.bodies.items()
        for name, constant in body.constants.items()
        if "float" in constant.dtype and constant.shape
    ]
    known = {each.value_digest for each in ref_constants}
    here = {constant.value_digest for _, constant in kept}
    couples = [
        (_likelihood(constant, other, known, here), place, constant, other)
        for place, constant in kept
        for other in ref_constants
        if np.prod(constant.shape) in _sizes(other)
    ]
    for _, place, constant, other in sorted(couples, key=lambda couple: couple[0]):
        whole = context.constant(context.reference, other.name)
        for right in _of_size(whole, int(np.prod(constant.shape))) if whole is not None else ():
            for moved in rearrangements(right, constant.shape):
                values = message("PATCH.values", right=repr(other.name))
                yield Patch(
                    summary=message("PATCH.constant", names=repr(place), values=values),
                    edits=(SetConstant(tensor=place, value=moved.array(right)),),
                )


def _likelihood(constant: Constant, other: Constant, known: set[str], here: set[str]) -> int:
    """Small where one may well stand for the other."""
    if constant.value_digest == other.value_digest:
        return 1
    return 0 if constant.value_digest not in known and other.value_digest not in here else 2


def _sizes(constant: Constant) -> tuple[int, int]:
    """How many numbers it holds, and how many a row of it: two biases may be kept as one."""
    size = int(np.prod(constant.shape))
    return size, size // max(1, constant.shape[0]) if constant.shape else size


def _of_size(whole: Array, size: int) -> Iterator[Array]:
    """All of a constant, or its rows, whichever is of this size."""
    yield from (whole,) if whole.size == size else whole
