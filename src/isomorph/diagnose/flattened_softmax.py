"""Softmax before opset 13: all axes from the named one on are taken as one.

Since then it is the named axis alone. A file that was moved from one opset to the other with its
axis unchanged has the same attribute and computes something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.experiments import experiment
from isomorph.core.report import Experiment
from isomorph.kernels.softmax import log_softmax, one_hot, softmax
from isomorph.oracle.noise import NO_NOISE

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_OPS = frozenset({"Softmax", "LogSoftmax", "Hardmax"})


def taken_as_one(context: FaultContext) -> tuple[Node, int, bool, Experiment] | None:
    """The node, its axis, and whether it is the candidate that takes the axes as one."""
    for node in context.nodes:
        axis = node.attributes.get("axis")
        x = context.value(context.candidate, node.inputs[0]) if node.op in _OPS else None
        if x is None or not isinstance(axis, int) or x.shape != context.right.shape or x.ndim < 2:
            continue
        axis %= x.ndim
        rows = int(np.prod(x.shape[:axis]))
        alone = _soft(x.astype(np.float64), axis, node.op)
        together = _soft(x.astype(np.float64).reshape(rows, -1), 1, node.op).reshape(x.shape)
        for flat, (cand, ref) in ((True, (together, alone)), (False, (alone, together))):
            if context.equals(ref) and not context.equals(cand) and _same(cand, context.wrong):
                return node, axis, flat, _experiment(node.op, axis, flat=flat)
    return None


def _soft(x: Array, axis: int, op: str) -> Array:
    if op == "Hardmax":
        return one_hot(x, axis)
    return (log_softmax if op == "LogSoftmax" else softmax)(x, axis, NO_NOISE)


def _same(one: Array, other: Array) -> bool:
    """Both were computed in float64, in another order at most."""
    bound = one.size * float(np.finfo(np.float64).eps) * float(np.max(np.abs(one)))
    return bool(np.max(np.abs(one - other.astype(np.float64))) <= bound)


def _experiment(op: str, axis: int, *, flat: bool) -> Experiment:
    sides = ("candidate", "reference") if flat else ("reference", "candidate")
    return experiment("attribute.softmax_axes", op=op, axis=axis, flat=sides[0], single=sides[1])
