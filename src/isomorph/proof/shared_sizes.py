"""Meanings of what follows from sizes alone that frameworks share.

Where sizes are numbers, the values are those of the oracle; these meanings are for bodies, and for
sizes that stand for every size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def filled(call: Call) -> Sequence[Term]:
    """A tensor of the second input, a single number, of the sizes that the first one lists."""
    call.only(2)
    call.derived("index_type")
    return (call.terms.filled(call.x(1), call.ints(0)),)


def filled_alike(number: int) -> Meaning:
    """A tensor of one number, of the size and type of the input."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        x = call.x()
        return (call.terms.filled(call.terms.constant(np.array(number), x.dtype), x.shape),)

    return meaning


def product(call: Call) -> Sequence[Term]:
    """The product of all listed sizes."""
    call.only(2)
    call.derived("axes", "keepdims")
    return (product_of_sizes(call, call.ints(1), kept=bool(call.needs("keep_dims"))),)


def product_of_sizes(call: Call, axes: Sequence[int], *, kept: bool) -> Term:
    """The product of all numbers of the first input, which must list sizes."""
    x = call.x(0)
    if x.rank != 1 or x.dtype not in ("int32", "int64") or tuple(axes) not in ((0,), (-1,)):
        raise NoMeaningError("a product of other numbers than sizes")
    number = np.array(math.prod(call.ints(0)), object)
    return call.terms.stated(number.reshape((1,) if kept else ()), x.dtype)
