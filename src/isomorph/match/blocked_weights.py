"""Weights that are stored as integers with one scale for each block of neighbors.

`DequantizeLinear` with a block size, `MatMulNBits` and `GatherBlockQuantized` read them. Their
integers are unpacked, multiplied and compared with the reference's weights of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels.quantized import limits, unpacked
from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.element_bounds import Elements, Source, compare_elements, grid_steps
from isomorph.oracle.dtypes import HALVES
from isomorph.oracle.noise import least_rounding, unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights

PRODUCT = "MatMulNBits"
"""The operator whose packed weights a run multiplies as the real numbers that they stand for."""

Store = Callable[["Array"], "Array"]
"""Makes the stored array out of real numbers in the shape of the weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedWeight:
    """A weight in blocks, and the number that each of its integers stands for.

    ``weight`` has the shape of ``integers``, ``zeros`` and ``steps``, not that of the packed bytes.
    A step may be negative: the number of largest size then has the smallest integer.
    """

    weight: StoredWeight
    integers: Array = field(repr=False)
    zeros: Array = field(repr=False)
    steps: Array = field(repr=False)
    ends: tuple[int, int]
    pack: Store = field(repr=False)
    scale_dtype: str
    block: int
    """How many neighbors have one scale."""

    @property
    def sizes(self) -> Array:
        """The size of the step at each element."""
        return np.abs(self.steps)

    @property
    def scale_error(self) -> Array:
        """How far one rounding of a narrow scale moves each number."""
        if self.scale_dtype not in HALVES:
            return np.zeros(self.steps.shape)
        one = np.maximum(
            unit_roundoff(self.scale_dtype) * self.sizes, least_rounding(self.scale_dtype)
        )
        return np.asarray(one * np.abs(self.integers - self.zeros))

    @property
    def real(self) -> Array:
        """The numbers that the integers stand for."""
        return np.asarray((self.integers - self.zeros) * self.steps)

    def store(self, real: Array) -> Array:
        """What is stored for these numbers with the scales as they are."""
        with np.errstate(all="ignore"):
            whole = np.rint(real / self.steps) + self.zeros
        return self.pack(np.clip(np.nan_to_num(whole), *self.ends))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedDifference:
    """A weight in blocks beside the one of the reference that it differs from in few numbers."""

    weight: StoredWeight
    source: StoredWeight
    expected: Array = field(repr=False)
    actual: Array = field(repr=False)
    elements: Elements
    store: Store = field(repr=False)


def blocked_differences(reference: Weights, candidate: Weights) -> Iterator[BlockedDifference]:
    """Every weight in blocks that is wrong in few numbers, with what it was made from."""
    sources: Mapping[int, list[tuple[StoredWeight, Array, Array]]] | None = None
    for blocked in blocked_weights(candidate):
        if sources is None:
            sources = _sources(reference)
        found = _nearest(blocked, sources.get(blocked.weight.size, ()))
        if found is not None:
            yield found


def _sources(side: Weights) -> Mapping[int, list[tuple[StoredWeight, Array, Array]]]:
    """The weights of a graph by size: each with its numbers and the step at each of them."""
    found: dict[int, list[tuple[StoredWeight, Array, Array]]] = {}
    for blocked in blocked_weights(side):
        held = blocked.weight, blocked.real, blocked.sizes
        found.setdefault(blocked.weight.size, []).append(held)
    for weight in side.stored.values():
        value = side.real(weight) if weight.direct else None
        if value is not None:
            step = grid_steps(weight.grid, weight.shape) if weight.grid is not None else 0.0
            steps = np.broadcast_to(step, value.shape)
            found.setdefault(weight.size, []).append((weight, value, steps))
    return found


def _nearest(
    blocked: BlockedWeight, sources: Sequence[tuple[StoredWeight, Array, Array]]
) -> BlockedDifference | None:
    """The source from which fewest numbers differ; None where one explains all of them."""
    weight, actual = blocked.weight, blocked.real
    widest = 0.5 * float(np.max(blocked.sizes, initial=0.0))
    best: BlockedDifference | None = None
    for source, value, steps in sources:
        half = 0.5 * float(np.max(steps, initial=0.0)) + widest
        # The steps are arranged as the numbers are, in the place of their error.
        terms = Source(dtype=source.dtype, half_step=half, error_bound=steps)
        for expected, placed in agreeing_arrangements(value, actual, weight, terms):
            own = Source(dtype=source.dtype)
            seen = compare_blocked(blocked, expected, actual, own, placed.error_bound)
            if seen.equal:
                return None
            if not seen.sparse or seen.informative <= seen.count:
                continue
            if best is None or seen.count < best.elements.count:
                best = BlockedDifference(
                    weight=weight, source=source, expected=expected, actual=actual, elements=seen,
                    store=blocked.store,
                )  # fmt: skip
    return best


def compare_blocked(
    blocked: BlockedWeight, expected: Array, actual: Array, source: Source, step: Array | float
) -> Elements:
    """Compare a weight in blocks element by element with what it was made from.

    A quantizer stores clip(rint(x/s) + z, low, high): it moves a number by half a step, at the ends
    of a block as elsewhere, unless the end cuts it off. A scale that is rounded afterwards moves it
    by its rounding. So did the source's, whose step is ``step``.
    """
    steps = np.broadcast_to(step, actual.shape)
    with np.errstate(all="ignore"):
        apart = np.abs(expected - actual) > unit_roundoff("float32") * np.abs(expected)
    # Where most numbers are exactly the source's, its grid was kept, and none was rounded again.
    # In blocks of another size, that holds only for those that have the source's step.
    on_grid = steps > 0.0
    if not _same_blocks(blocked.sizes, steps):
        with np.errstate(all="ignore"):
            on_grid &= np.abs(blocked.sizes - steps) <= unit_roundoff("float32") * steps
    if 2 * int(np.count_nonzero(apart & on_grid)) >= int(np.count_nonzero(on_grid)):
        on_grid = np.zeros(actual.shape, bool)
    reach = blocked.scale_error + np.where(on_grid, 0.0, 0.5 * (blocked.sizes + steps))
    seen = compare_elements(expected, actual, blocked.weight, replace(source, error_bound=reach))
    aside = _cut_off(blocked, expected - actual)
    return replace(seen, beyond=seen.beyond & ~aside, between=seen.between & ~aside)


def _same_blocks(one: Array, two: Array) -> bool:
    """Whether the steps of two grids change at the same places."""
    return all(
        np.array_equal(np.diff(one, axis=axis) != 0.0, np.diff(two, axis=axis) != 0.0)
        for axis in range(one.ndim)
    )


def _cut_off(blocked: BlockedWeight, error: Array) -> Array:
    """Mark the numbers that lie beyond the end of their block, which stores the end instead."""
    low, high = blocked.ends
    with np.errstate(all="ignore"):
        outward = error * np.sign(blocked.steps)
        above = (blocked.integers == high) & (outward > 0.0)
        below = (blocked.integers == low) & (outward < 0.0)
    return np.asarray(above | below)


def blocked_weights(side: Weights) -> Iterator[BlockedWeight]:
    """Every constant of a graph that is read in blocks."""
    for node in side.graph.nodes:
        decode = _DECODERS.get(node.op)
        if decode is not None and node.name in side.useful:
            found = decode(side, node)
            if found is not None:
                yield found


def _array(side: Weights, node: Node, place: int) -> Array | None:
    """A constant input of a node as it is stored, integers widened."""
    name = node.input(place)
    if name not in side.graph.constants:
        return None
    value = side.stored_array(name)
    if value is None or value.dtype.kind in "iuf":
        return value
    return value.astype(np.int64 if "int" in value.dtype.name else np.float64)


def _absent(node: Node, place: int) -> bool:
    return place >= len(node.inputs) or not node.inputs[place]


def _weight(side: Weights, node: Node, place: int, shape: tuple[int, ...]) -> StoredWeight | None:
    found = side.constant(node.inputs[place])
    return None if found is None else replace(found, shape=shape, grid=None)


def _dequantized(side: Weights, node: Node) -> BlockedWeight | None:
    """The operand of a DequantizeLinear with a block size."""
    block = int(node.attributes.get("block_size", 0) or 0)
    stored, scales, zeros = (_array(side, node, place) for place in range(3))
    if not block or stored is None or scales is None or scales.ndim != stored.ndim:
        return None
    ends = limits(side.graph.constants[node.inputs[0]].dtype)
    weight = _weight(side, node, 0, stored.shape)
    if ends is None or weight is None or (zeros is None and not _absent(node, 2)):
        return None
    axis = int(node.attributes.get("axis", 1)) % stored.ndim
    which = np.arange(stored.shape[axis]) // block
    return BlockedWeight(
        weight=weight,
        block=block,
        scale_dtype=side.graph.constants[node.inputs[1]].dtype,
        integers=stored.astype(np.int64),
        zeros=_spread(zeros, which, axis, stored.shape, 0),
        steps=_spread(scales, which, axis, stored.shape, 0),
        ends=ends,
        pack=lambda whole: whole,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedProduct:
    """What a MatMulNBits reads: a field for each weight, a zero point and a scale for each block.

    Rows are those of the outputs.
    """

    fields: Array = field(repr=False)
    zeros: Array = field(repr=False)
    scales: Array = field(repr=False)
    block: int
    bits: int


def packed_product(node: Node, read: Callable[[int], Array | None]) -> PackedProduct | None:
    """The packed operand of a node; ``read`` gives the stored array at a place."""
    given = node.attributes
    bits, block = int(given.get("bits", 4)), int(given.get("block_size", 0) or 0)
    stored, scales, zeros = (read(place) for place in (1, 2, 3))
    if 8 % bits or not block or stored is None or scales is None or not _absent(node, 4):
        return None
    rows, inner = int(given["N"]), int(given["K"])
    blocks = -(-inner // block)
    if zeros is None:
        if not _absent(node, 3):
            return None
        zeros = np.full((rows, blocks), float(2 ** (bits - 1)))
    elif zeros.dtype == np.uint8:
        zeros = unpacked(zeros.reshape(rows, -1), bits)[:, :blocks]
    return PackedProduct(
        fields=unpacked(stored.reshape(rows, -1), bits).astype(np.int64),
        zeros=np.asarray(zeros, np.float64).reshape(rows, blocks),
        scales=np.asarray(scales, np.float64).reshape(rows, blocks),
        block=block,
        bits=bits,
    )


def _product(side: Weights, node: Node) -> BlockedWeight | None:
    """The packed operand of a MatMulNBits, as the matrix of its rows N and columns K."""
    found = packed_product(node, lambda place: _array(side, node, place))
    if found is None:
        return None
    rows, inner = int(node.attributes["N"]), int(node.attributes["K"])
    weight = _weight(side, node, 1, (rows, inner))
    stored = side.graph.constants[node.inputs[1]].shape
    if weight is None:
        return None
    which = np.arange(inner) // found.block

    def pack(whole: Array) -> Array:
        filled = found.fields.copy()
        filled[:, :inner] = whole
        return _packed(filled, found.bits).reshape(stored)

    return BlockedWeight(
        weight=weight,
        block=found.block,
        scale_dtype=side.graph.constants[node.inputs[2]].dtype,
        integers=found.fields[:, :inner],
        zeros=found.zeros.take(which, axis=1),
        steps=found.scales.take(which, axis=1),
        ends=(0, 2**found.bits - 1),
        pack=pack,
    )


def _table(side: Weights, node: Node) -> BlockedWeight | None:
    """The table of a GatherBlockQuantized."""
    given = node.attributes
    bits, block = int(given.get("bits", 4)), int(given.get("block_size", 128) or 0)
    stored, scales, zeros = (_array(side, node, place) for place in (0, 2, 3))
    if 8 % bits or not block or stored is None or scales is None:
        return None
    ends = limits(side.graph.constants[node.inputs[0]].dtype)
    if ends is None or (zeros is None and not _absent(node, 3)):
        return None
    packed = stored.dtype == np.uint8
    fields = unpacked(stored, bits) if packed else stored
    if zeros is not None and packed:
        zeros = unpacked(zeros, bits)
    axis = int(given.get("quantize_axis", 1)) % fields.ndim
    weight = _weight(side, node, 0, fields.shape)
    if weight is None:
        return None
    which = np.arange(fields.shape[axis]) // block
    return BlockedWeight(
        weight=weight,
        block=block,
        scale_dtype=side.graph.constants[node.inputs[2]].dtype,
        integers=fields.astype(np.int64),
        zeros=_spread(zeros, which, axis, fields.shape, 2 ** (bits - 1) if packed else 0),
        steps=_spread(scales, which, axis, fields.shape, 0),
        ends=(0, 2**bits - 1) if packed else ends,
        pack=(lambda whole: _packed(whole, bits)) if packed else (lambda whole: whole),
    )


def _spread(
    values: Array | None, which: Array, axis: int, shape: tuple[int, ...], default: int
) -> Array:
    """The value of each block at each of its elements."""
    if values is None:
        return np.full(shape, float(default))
    return np.asarray(values, np.float64).take(which, axis=axis)


def _packed(fields: Array, bits: int) -> Array:
    """Fields along the last axis as bytes, lowest bits first."""
    each = 8 // bits
    groups = fields.astype(np.int64).reshape(*fields.shape[:-1], -1, each)
    return np.asarray(groups @ (1 << (bits * np.arange(each)))).astype(np.uint8)


_DECODERS: Mapping[str, Callable[[Weights, Node], BlockedWeight | None]] = {
    "DequantizeLinear": _dequantized,
    PRODUCT: _product,
    "GatherBlockQuantized": _table,
}
