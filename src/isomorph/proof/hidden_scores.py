"""Scores that a softmax hides: their weights are zero in every type of numbers.

A file may hide a score by minus infinity or by a large negative number. Real arithmetic tells the
two apart, by a weight like exp(-1e38). Where the scores are bounded for every input, so is that
weight; below the least number of the widest type of IEEE 754 it counts as zero, and the proof
states so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.magnitudes import magnitude
from isomorph.proof.sizes import dense
from isomorph.proof.term import array_digest

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.proof.term import Term
    from isomorph.proof.terms import Terms

LOWEST_EXPONENT = -16494
"""The least number of binary128 is two to this power: no type of IEEE 754 holds a smaller one."""

_VANISHES = LOWEST_EXPONENT * math.log(2.0)


def with_hidden_scores(t: Terms, x: Term, axis: int) -> Term:
    """The scores, with minus infinity where a constant makes every weight vanish."""
    if not x.finite:
        t.masks.add("minus infinity")
    if x.op != "add":
        return x
    for scores, mask in (x.inputs, x.inputs[::-1]):
        if mask.op != "constant" or scores.static:
            continue
        below = _below_largest(mask, x.shape, axis)
        if not (below < _VANISHES).any():
            continue
        # A weight is at most the exponential of how far its score lies below one that is seen.
        hidden = below + 2.0 * magnitude(scores) < _VANISHES
        if hidden.any():
            t.vanishing = True
            value = np.broadcast_to(np.asarray(mask.value(), np.float64), dense(x.shape))
            t.masks.add(array_digest(np.where(hidden, value, 0.0)))
            return t.add(scores, t.constant(np.where(hidden, -np.inf, value), x.dtype))
    return x


def _below_largest(mask: Term, shape: tuple[int, ...], axis: int) -> Array:
    """How far each number of a mask lies below the largest one of its row."""
    value = np.broadcast_to(np.asarray(mask.value(), np.float64), dense(shape))
    return np.asarray(value - value.max(axis=axis, keepdims=True))
