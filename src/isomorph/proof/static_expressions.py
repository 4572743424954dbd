"""What a graph computes among constants, as expressions of them.

Libraries round a table of cosines differently, and conversions fold constants in an order of their
own. So what rounds among constants is an expression, like what depends on the inputs; a number
that one side stores instead stands for it within its rounding. What is exact, decides something,
or leaves nothing significant is the number that the oracle computes in the declared type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.rounding_bound import bounded, fitting
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.proof.side import Side


def as_expressions(side: Side, node: Node) -> tuple[Term, ...] | None:
    """The terms of what a node computes among constants; None where its values stand for it."""
    names = [name for name in node.outputs if name]
    if not side.expressions:
        return None
    if node.native_op not in side.meanings.spelled or node.native_op in side.meanings.never_folded:
        return None
    if any(name not in side.values or side.values[name].dtype.kind != "f" for name in names):
        return None
    for inputs in _operands(side, node):
        try:
            made = side.apply(node, inputs)
        except (NoMeaningError, ValueError, TypeError, IndexError, KeyError, OverflowError):
            continue
        pairs = list(zip(made, [side.values[name] for name in names], strict=False))
        if len(pairs) != len(node.outputs) or all(_exact(side, *each) for each in pairs):
            break
        off = [_off(side, *each) for each in pairs]
        if None not in off:
            side.static_rounding = max(side.static_rounding, *(each or 0.0 for each in off))
            return made
    for name in names:
        side.terms_of.pop(name, None)
    return None


def _operands(side: Side, node: Node) -> Iterator[Sequence[Term | None]]:
    """The operands of a node as expressions, and then as the values that the oracle computes."""
    terms = [side.read(name) if name else None for name in node.inputs]
    yield terms
    if any(each is not None and each.op != "constant" for each in terms):
        yield [side.value_of(name) if name else None for name in node.inputs]


def _exact(side: Side, term: Term, value: Array) -> bool:
    """Whether an expression is its value, without any rounding."""
    if term.op == "constant":
        return True
    bound = bounded(term, side.bounds)
    return bound is not None and not bound[1].any() and bool((bound[0] == value).all())


def _off(side: Side, term: Term, value: Array) -> float | None:
    """How far a value is off its expression, relatively; None where it does not stand for it."""
    bound = bounded(term, side.bounds)
    if bound is None or tuple(value.shape) != term.shape:
        return None
    return fitting(np.asarray(value, np.float64), bound, term.dtype)
