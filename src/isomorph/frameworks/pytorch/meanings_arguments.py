"""Numbers among the arguments of ATen's operators, for proofs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.term import FLOATS, NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call


def scalar(call: Call, name: str, dtype: str) -> Term:
    """A number among the arguments, in the type that the operator computes with."""
    number = call.needs(name)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise NoMeaningError(f"{name}={number!r}")
    if dtype not in FLOATS:
        limits = None if dtype == "bool" else np.iinfo(dtype)
        if (
            limits is None
            or not isinstance(number, int)
            or not (limits.min <= number <= limits.max)
        ):
            raise NoMeaningError(f"{name}={number!r} beside {dtype}")
        return call.terms.constant(np.array(number, dtype), dtype)
    if not math.isfinite(number):
        return call.terms.constant(np.array(number), dtype)
    if abs(number) > 2.0**53:
        raise NoMeaningError(f"{name}={number!r}")
    return call.terms.number(float(number), dtype)


def operands(call: Call, name: str = "other") -> tuple[Term, Term]:
    """Two operands, the second a tensor or a number; torch lets a tensor with axes decide types."""
    a = call.x(0)
    if call.count == 1:
        return a, scalar(call, name, a.dtype)
    call.only(2)
    b = call.x(1)
    if a.dtype != b.dtype and a.is_float and b.is_float:
        # A tensor without axes takes the type of the other, as a number does.
        if b.rank == 0 and b.op == "constant" and a.rank:
            b = call.terms.number(float(b.value()), a.dtype)
        elif a.rank == 0 and a.op == "constant" and b.rank:
            a = call.terms.number(float(a.value()), b.dtype)
    return a, b
