"""Stored integers as they would be if the reference's weight were quantized onto their grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.diagnose import node_constants
from isomorph.diagnose.folded_constants import folded
from isomorph.kernels.quantized import dequantize
from isomorph.match.quantizers import written
from isomorph.match.value_match import ways

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_BIAS = {"QLinearConv": (8, 1, 4)}
"""Where a bias stands that counts in products of two scales, and where these stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requantized:
    """A stored constant with the integers that it should hold.

    ``held`` and ``right`` are the real numbers of both, ``steps`` the width of its grid, and
    ``source`` says whose they are. ``read`` is what stands for the integers in the oracle: they
    themselves, or the real numbers that they mean.
    """

    name: str
    integers: Array = field(repr=False)
    read: Array = field(repr=False)
    held: Array = field(repr=False)
    right: Array = field(repr=False)
    steps: Array = field(repr=False)
    source: str


def requantized(case: FaultContext) -> Iterator[Requantized]:
    """Each of the reference's weights on the grid of each constant that has its size.

    Integers that differ by no more than the rounding of the quotient are left alone.
    """
    rights = list(_reference(case))
    for name, scale, zero, axis in (*_weights(case), *_biases(case)):
        held = case.constant(case.candidate, name)
        kind = np.dtype(case.candidate.constants[name].dtype)
        if held is None or kind.kind not in "iu":
            continue
        steps, zeros = (_along(each, axis, held.ndim) for each in (scale, zero))
        real = held.dtype.kind == "f" and bool(np.any(held != np.rint(held)))
        held = np.rint(held / steps) + zeros if real else held
        ends = np.iinfo(kind)
        for source, right in rights:
            for moved in ways(right, held.shape) if right.size == held.size else ():
                placed = moved.array(right)
                whole = np.clip(np.rint(placed / steps) + zeros, ends.min, ends.max)
                if np.any(np.abs(whole - held) > 1.0):
                    yield Requantized(
                        name=name,
                        integers=whole.astype(kind),
                        read=(whole - zeros) * steps if real else whole.astype(held.dtype),
                        held=dequantize(held.astype(kind), scale, zero, axis),
                        right=placed,
                        steps=steps,
                        source=source,
                    )


def _weights(case: FaultContext) -> Iterator[tuple[str, Array, Array, int | None]]:
    grids = written(case.candidate)
    readers = {name for node in case.nodes for name in node.inputs}
    makers = [node for node in case.candidate.nodes if set(node.outputs) & readers]
    for name in node_constants.names(case.candidate, [*case.nodes, *makers]):
        if name in grids and name in case.candidate.constants:
            grid = grids[name]
            scale, zero = np.asarray(grid.scale, np.float64), np.asarray(grid.zero_point)
            yield name, scale, zero if zero.size else np.zeros(1), grid.axis


def _biases(case: FaultContext) -> Iterator[tuple[str, Array, Array, int | None]]:
    for node in case.nodes:
        place, *scales = _BIAS.get(node.op, (len(node.inputs),))
        held = [_constant(case, node, each) for each in scales]
        found = [np.asarray(each, np.float64).reshape(-1) for each in held if each is not None]
        if place < len(node.inputs) and node.inputs[place] and len(found) == len(scales) == 2:
            one, other = found
            scale = one * other
            yield node.inputs[place], scale, np.zeros(1), 0 if scale.size > 1 else None


def _constant(case: FaultContext, node: Node, place: int) -> Array | None:
    name = node.inputs[place]
    return case.constant(case.candidate, name) if name in case.candidate.constants else None


def _reference(case: FaultContext) -> Iterator[tuple[str, Array]]:
    """What the counterparts hold, and what they hold with a norm worked in."""
    for name in node_constants.floats(case.reference, case.counterparts):
        value = case.constant(case.reference, name)
        if value is not None:
            yield repr(name), np.asarray(value, np.float64)
    yield from folded(case)


def _along(values: Array, axis: int | None, rank: int) -> Array:
    if values.size == 1 or axis is None:
        return values.reshape(-1)[:1].reshape([1] * rank)
    return values.reshape([-1 if each == axis else 1 for each in range(rank)])
