"""Choices that a conversion writes as arithmetic of whole numbers.

A truth value as 0 or 1, times a tensor, is the tensor or zero; two such products with opposite
truth values add up to a choice. Both are exact, whatever wraps elsewhere. A small bound compares
with whole numbers as it does with what they are rounded to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.term import WHOLE_IN_FLOAT32, Term, is_function

if TYPE_CHECKING:
    from isomorph.proof.terms import Terms


def product(t: Terms, a: Term, b: Term) -> Term | None:
    """A tensor times a truth value as a number of its type; None of other tensors."""
    for factor, x in ((a, b), (b, a)):
        if (
            is_function(factor, "cast")
            and factor.inputs[0].dtype == "bool"
            and factor.dtype == x.dtype
        ):
            zero = t.constant(np.zeros((), x.dtype), x.dtype)
            return t.function("where", (factor.inputs[0], x, zero), dtype=x.dtype)
    return None


def total(t: Terms, a: Term, b: Term) -> Term | None:
    """The sum of two tensors of which each is zero where the other is not; None of others."""
    for one, other in ((a, b), (b, a)):
        if _zero_else(one) and _zero_else(other):
            condition, opposite = one.inputs[0], other.inputs[0]
            if is_function(opposite, "not") and opposite.inputs[0] is condition:
                chosen = (condition, one.inputs[1], other.inputs[1])
                return t.function("where", chosen, dtype=one.dtype)
    return None


def below(t: Terms, a: Term, b: Term) -> Term | None:
    """Whether rounded whole numbers are below a bound: whether they are; None of other tensors."""
    if not is_function(a, "cast") or a.dtype != "float32" or b.op != "constant" or b.shape:
        return None
    x, bound = a.inputs[0], float(b.value())
    if x.dtype not in ("int32", "int64") or bound != int(bound) or abs(bound) >= WHOLE_IN_FLOAT32:
        return None
    whole = t.constant(np.array(int(bound), x.dtype), x.dtype)
    return t.function("less", (x, whole), dtype="bool")


def _zero_else(term: Term) -> bool:
    """Whether a term is a choice between a tensor and zero."""
    if not is_function(term, "where"):
        return False
    last = term.inputs[2]
    return last.op == "constant" and not last.shape and not last.value().any()
