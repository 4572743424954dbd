"""Weights that a loop or branch keeps inside, where the reference hands them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant
from isomorph.diagnose import node_constants
from isomorph.match.value_match import rearrangements
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.trace import Array


def inside_bodies(context: FaultContext) -> Iterator[Patch]:
    """Constants that a loop or branch keeps inside, and that the reference's is given.

    A loop may keep the blocks of a recurrent layer's weight one by one. The likeliest first: values
    that the reference lacks and values that are lost, then the same values in their own order, then
    whatever is of one size.
    """
    kept = [
        (f"{node.name}/{key}#0/{name}", constant)
        for node in context.nodes
        for key, body in node.bodies.items()
        for name, constant in body.constants.items()
        if "float" in constant.dtype and constant.shape
    ]
    sizes = {int(np.prod(constant.shape)) for _, constant in kept}
    parts = [
        (name, part, constant_of(name, part.astype(dtype)).value_digest)
        for name, dtype, whole in _stored(context)
        for size in sizes
        for part in _of_size(whole, size)
    ]
    known = {digest for *_, digest in parts}
    here = {constant.value_digest for _, constant in kept}
    couples = [
        (_likelihood(constant.value_digest, digest, known, here), place, constant, name, part)
        for place, constant in kept
        for name, part, digest in parts
        if part.size == np.prod(constant.shape)
    ]
    for _, place, constant, name, part in sorted(couples, key=lambda couple: couple[0]):
        for moved in rearrangements(part, constant.shape):
            values = message("PATCH.values", right=repr(name))
            yield Patch(
                summary=message("PATCH.constant", names=repr(place), values=values),
                edits=(SetConstant(tensor=place, value=moved.array(part)),),
            )


def _stored(context: FaultContext) -> Iterator[tuple[str, np.dtype[Any], Array]]:
    """The constants of the reference's nodes, with the types that they are stored in."""
    for name in node_constants.floats(context.reference, context.counterparts):
        whole = context.constant(context.reference, name)
        if whole is not None:
            yield name, numpy_dtype(context.reference.constants[name].dtype), whole


def _likelihood(digest: str, other: str, known: set[str], here: set[str]) -> int:
    """Small where one may well stand for the other."""
    if digest == other:
        return 1
    return 0 if digest not in known and other not in here else 2


def _of_size(whole: Array, size: int) -> Iterator[Array]:
    """All of a constant, or the parts of its first axis that are of this size.

    The directions of a recurrent layer's weight are one behind the other, each with its gates.
    """
    count = whole.size // size if size and whole.size % size == 0 else 0
    rows = whole.reshape(-1, whole.shape[-1]) if whole.ndim == 3 else whole
    if count == 1:
        yield whole
    elif count and rows.ndim and rows.shape[0] % count == 0:
        yield from np.split(rows, count)
