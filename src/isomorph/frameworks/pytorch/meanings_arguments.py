"""Numbers among the arguments of ATen's operators, for proofs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.sizes import whole
from isomorph.proof.term import FLOATS, STATED, NoMeaningError, Term

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
    exact = dtype in ("float32", "float64") and float(np.float32(number)) == number
    if abs(number) > 2.0**53 and not exact:
        raise NoMeaningError(f"{name}={number!r}")
    return call.terms.number(float(number), dtype)


def whole_numbers(call: Call, name: str) -> tuple[int, ...]:
    """Whole numbers among the arguments; those that are computed are inputs of the node."""
    stated = call.needs(name)
    listed = stated if isinstance(stated, (tuple, list)) else (stated,)
    return tuple(_number(call, name, each) for each in listed)


def whole_number(call: Call, name: str) -> int:
    """One whole number among the arguments."""
    return _number(call, name, call.needs(name))


def optional_number(call: Call, name: str) -> int | None:
    """One whole number among the arguments, or None where there is none."""
    stated = call.needs(name)
    return None if stated is None else _number(call, name, stated)


def _number(call: Call, name: str, stated: object) -> int:
    if isinstance(stated, int):
        return int(stated)
    if not isinstance(stated, str) or stated not in call.node.inputs:
        raise NoMeaningError(f"{name}={stated!r}")
    term = call.x(call.node.inputs.index(stated))
    if term.op not in STATED or term.shape or term.is_float:
        raise NoMeaningError(f"{name} is computed from values")
    return whole(term.value().reshape(-1)[0])


def only_tensors(call: Call, count: int, *names: str) -> None:
    """Refuse another number of inputs besides those that these arguments name."""
    named: set[object] = set()
    for name in names:
        stated = call.node.attributes.get(name)
        named.update(stated if isinstance(stated, (tuple, list)) else (stated,))
    call.only(count + sum(each in named for each in call.node.inputs))


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
