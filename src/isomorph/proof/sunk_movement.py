"""Computes before it moves: f(transpose(x)) is transpose(f(x)), exactly.

Frameworks with the channels last and those with the channels first compute the same on other
orders of axes. With the movement behind what is computed, both are one term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.proof.sizes import broadcast_shapes, one, same

if TYPE_CHECKING:
    from isomorph.proof.term import Term
    from isomorph.proof.terms import Terms

_POINTWISE = frozenset({"add", "mul", "inverse", "function"})
"""Primitives that compute each element from the elements at its place."""

_AXES = frozenset({"sum", "slice", "pad", "concat", "retype"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A term that is about to be made."""

    op: str
    inputs: tuple[Term, ...]
    shape: tuple[int, ...]
    dtype: str
    attrs: tuple[Any, ...]
    finite: bool | None


def sunk(t: Terms, wanted: Wanted) -> Term | None:
    """The same with the movement of its inputs behind it; None where that is not possible."""
    if wanted.op not in _POINTWISE and wanted.op not in _AXES:
        return None
    moving = [each for each in wanted.inputs if not each.static]
    if not moving or any(each.op not in ("transpose", "reshape") for each in moving):
        return None
    first = moving[0]
    if first.op == "transpose" and all(
        each.op == "transpose" and each.attrs == first.attrs for each in moving
    ):
        order = first.attrs[0]
        if wanted.op in _POINTWISE:
            return _pointwise_transposed(t, wanted, order)
        return _along_axes(t, wanted, order) if len(moving) == _moved_inputs(wanted) else None
    if wanted.op in _POINTWISE and all(each.op == "reshape" for each in moving):
        return _pointwise_reshaped(t, wanted, first)
    return None


def _moved_inputs(wanted: Wanted) -> int:
    """How many inputs the movement must be taken from: a border's number has no axes."""
    return 1 if wanted.op == "pad" else len(wanted.inputs)


def _pointwise_transposed(t: Terms, wanted: Wanted, order: tuple[int, ...]) -> Term | None:
    if len(order) != len(wanted.shape):
        return None
    inner = []
    for each in wanted.inputs:
        if not each.static:
            inner.append(each.inputs[0])
            continue
        full = t.reshape(each, (1,) * (len(order) - each.rank) + each.shape)
        inner.append(t.transpose(full, np.argsort(order).tolist()) if each.rank else each)
    return t.transpose(_again(t, wanted, inner), order)


def _pointwise_reshaped(t: Terms, wanted: Wanted, first: Term) -> Term | None:
    """Reshapes that insert or drop axes of size 1, all from one shape to that of the result."""
    source, target = first.inputs[0].shape, wanted.shape
    if not same(first.shape, target) or not same(_plain(source), _plain(target)):
        return None
    inner = []
    for each in wanted.inputs:
        if each.static:
            inner.append(_narrowed(t, each, source, target))
        elif same(each.shape, target) and same(each.inputs[0].shape, source):
            inner.append(each.inputs[0])
        else:
            return None
    return t.reshape(_again(t, wanted, inner), target)


def _narrowed(t: Terms, x: Term, source: tuple[int, ...], target: tuple[int, ...]) -> Term:
    """A static tensor that broadcasts to ``target``, as one that does so to ``source``."""
    if not x.rank:
        return x
    full = (1,) * (len(target) - x.rank) + x.shape
    kept = iter([size for size, whole in zip(full, target, strict=True) if not one(whole)])
    return t.reshape(x, [1 if one(size) else next(kept) for size in source])


def _plain(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if not one(size)]


def _again(t: Terms, wanted: Wanted, inner: Sequence[Term]) -> Term:
    """The computation on other operands, by the rules of its kind."""
    match wanted.op:
        case "add":
            return t.add(*inner)
        case "mul":
            return t.mul(*inner)
        case "inverse":
            return t.inverse(*inner)
    shape = broadcast_shapes(*(each.shape for each in inner))
    commutes = wanted.attrs[3]
    given = sorted(map(t.known, inner), key=lambda each: each.id) if commutes else inner
    return t.make("function", given, shape, wanted.dtype, attrs=wanted.attrs, finite=wanted.finite)


def _along_axes(t: Terms, wanted: Wanted, order: tuple[int, ...]) -> Term | None:
    """What names its axes, with the names that they have before the transposition."""
    inner = [each.inputs[0] for each in wanted.inputs[: _moved_inputs(wanted)]]
    match wanted.op:
        case "sum":
            axes = {order[axis] for axis in wanted.attrs[0]}
            total = t.sum(inner[0], tuple(axes))
            kept = [axis for axis in order if axis not in axes]
            return t.transpose(total, [sorted(kept).index(axis) for axis in kept])
        case "slice":
            axis, start, count, step = wanted.attrs
            return t.transpose(t.slice(inner[0], order[axis], start, count, step), order)
        case "pad":
            widths = dict(zip(order, wanted.attrs[0], strict=True))
            low, high = ([widths[axis][side] for axis in range(len(order))] for side in (0, 1))
            return t.transpose(t.pad(inner[0], low, high, wanted.inputs[1]), order)
        case "concat":
            return t.transpose(t.concat(inner, order[wanted.attrs[0]]), order)
        case "retype":
            return t.transpose(t.retype(inner[0], wanted.dtype), order)
        case _:
            return None
