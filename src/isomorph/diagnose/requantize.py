"""Stored integers as they would be if the reference's weight were quantized onto their grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.diagnose import node_constants
from isomorph.diagnose.folded_constants import folded
from isomorph.kernels.quantized import dequantize
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_BIAS = {"QLinearConv": (8, 1, 4)}
"""Where a bias stands that counts in products of two scales, and where these stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requantized:
    """A stored constant with the integers that it should hold.

    ``cand_values`` and ``right`` are the real numbers of both, ``steps`` the width of its grid,
    and ``source`` the name of the reference's constant. ``read`` is what the oracle reads for the
    integers: themselves, or the real numbers that they represent.
    """

    name: str
    integers: Array = field(repr=False)
    read: Array = field(repr=False)
    cand_values: Array = field(repr=False)
    right: Array = field(repr=False)
    steps: Array = field(repr=False)
    source: str


def requantized(context: FaultContext) -> Iterator[Requantized]:
    """Each of the reference's weights on the grid of each constant that has its size.

    Integers that differ by no more than the rounding of the quotient are left alone.
    """
    rights = list(_reference(context))
    for name, scale, zero, axis in (*_weights(context), *_biases(context)):
        stored = context.constant(context.candidate, name)
        kind = np.dtype(context.candidate.constants[name].dtype)
        if stored is None or kind.kind not in "iu":
            continue
        steps, zeros = (_along(each, axis, stored.ndim) for each in (scale, zero))
        real = stored.dtype.kind == "f" and bool(np.any(stored != np.rint(stored)))
        stored = np.rint(stored / steps) + zeros if real else stored
        ends = np.iinfo(kind)
        for source, right in rights:
            for moved in rearrangements(right, stored.shape) if right.size == stored.size else ():
                placed = moved.array(right)
                whole = np.clip(np.rint(placed / steps) + zeros, ends.min, ends.max)
                if np.any(np.abs(whole - stored) > 1.0):
                    yield Requantized(
                        name=name,
                        integers=whole.astype(kind),
                        read=(whole - zeros) * steps if real else whole.astype(stored.dtype),
                        cand_values=dequantize(stored.astype(kind), scale, zero, axis),
                        right=placed,
                        steps=steps,
                        source=source,
                    )


def _weights(context: FaultContext) -> Iterator[tuple[str, Array, Array, int | None]]:
    grids = quantization_by_tensor(context.candidate)
    readers = {name for node in context.nodes for name in node.inputs}
    makers = [node for node in context.candidate.nodes if set(node.outputs) & readers]
    for name in node_constants.names(context.candidate, [*context.nodes, *makers]):
        if name in grids and name in context.candidate.constants:
            grid = grids[name]
            scale, zero = np.asarray(grid.scale, np.float64), np.asarray(grid.zero_point)
            yield name, scale, zero if zero.size else np.zeros(1), grid.axis


def _biases(context: FaultContext) -> Iterator[tuple[str, Array, Array, int | None]]:
    for node in context.nodes:
        place, *scales = _BIAS.get(node.op, (len(node.inputs),))
        arrays = [_constant(context, node, each) for each in scales]
        found = [np.asarray(each, np.float64).reshape(-1) for each in arrays if each is not None]
        if place < len(node.inputs) and node.inputs[place] and len(found) == len(scales) == 2:
            one, other = found
            scale = one * other
            yield node.inputs[place], scale, np.zeros(1), 0 if scale.size > 1 else None


def _constant(context: FaultContext, node: Node, place: int) -> Array | None:
    name = node.inputs[place]
    return (
        context.constant(context.candidate, name) if name in context.candidate.constants else None
    )


def _reference(context: FaultContext) -> Iterator[tuple[str, Array]]:
    """What the counterparts hold, and what they hold with a norm worked in."""
    for name in node_constants.floats(context.reference, context.counterparts):
        value = context.constant(context.reference, name)
        if value is not None:
            yield repr(name), np.asarray(value, np.float64)
    yield from folded(context)


def _along(values: Array, axis: int | None, rank: int) -> Array:
    if values.size == 1 or axis is None:
        return values.reshape(-1)[:1].reshape([1] * rank)
    return values.reshape([-1 if each == axis else 1 for each in range(rank)])
