"""Weights that are stored as integers with one scale for each block of neighbors.

`DequantizeLinear` with a block size, `MatMulNBits` and `GatherBlockQuantized` read them. Their
integers are unpacked, and each stands for a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isomorph.kernels.quantized import limits, spread, unpacked
from isomorph.match.byte_products import ByteProduct, byte_products
from isomorph.match.stated_blocks import read_in_blocks
from isomorph.oracle.dtypes import HALVES, numpy_dtype
from isomorph.oracle.noise import least_rounding, unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node, Quantization
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights

PRODUCT = "MatMulNBits"
"""The operator whose packed weights a run multiplies as the real numbers that they stand for."""

TABLE = "GatherBlockQuantized"
"""The operator that looks up rows of a packed table."""

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
    """How many neighbors have one scale; 0 where each slice of the axis has one."""
    axis: int | None = 1
    """The axis along which these lie; None where there is one scale."""
    fed: str = ""
    """The tensor that takes real numbers in their place; empty where none does."""
    as_fed: Store = field(default=lambda real: real, repr=False)
    stated: bool = False
    """Whether the constant states its scales itself, and no operator reads them."""

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

    def over_blocks(self, reduction: np.ufunc, values: Array) -> Array:
        """What a reduction makes of the values of each block, at each of its elements."""
        axis = self.axis
        if axis is None or not self.block:
            others = tuple(place for place in range(values.ndim) if place != axis)
            return np.broadcast_to(
                reduction.reduce(values, axis=others, keepdims=True), values.shape
            )
        length = values.shape[axis]
        reduced = reduction.reduceat(values, np.arange(0, length, self.block), axis=axis)
        return np.repeat(reduced, self.block, axis=axis).take(np.arange(length), axis=axis)

    def store(self, real: Array) -> Array:
        """What is stored for these numbers with the scales as they are."""
        with np.errstate(all="ignore"):
            whole = np.rint(real / self.steps) + self.zeros
        return self.pack(np.clip(np.nan_to_num(whole), *self.ends))


def blocked_weights(side: Weights) -> Iterator[BlockedWeight]:
    """Every constant of a graph that is read in blocks."""
    for node in side.graph.nodes:
        if node.name in side.useful:
            yield from blocked_in(side, node)
    for product in byte_products(side.graph):
        if product.scale and product.product.name in side.useful:
            weight = _scaled_behind(side, product)
            if weight is not None:
                yield weight


def blocked_in(side: ReadsConstants, node: Node) -> Iterator[BlockedWeight]:
    """What a node reads in blocks, by the operator that it calls or stands for."""
    word = node.native_op.rpartition("::")[2]
    decode = _DECODERS.get(node.op) or _DECODERS.get(word)
    found = decode(side, node) if decode is not None else None
    if found is not None:
        yield found
    for entry, fed in read_in_blocks(side.graph, node):
        stated = _stated(side, entry, fed)
        if stated is not None:
            yield stated


class ReadsConstants(Protocol):
    """What decoders need of the weights of a graph."""

    @property
    def graph(self) -> Graph: ...  # noqa: D102
    def stored_array(self, name: str) -> Array | None: ...  # noqa: D102
    def value(self, name: str) -> Array | None: ...  # noqa: D102
    def constant(self, name: str) -> StoredWeight | None: ...  # noqa: D102


def _scaled_behind(side: ReadsConstants, product: ByteProduct) -> BlockedWeight | None:
    """A matrix of bytes whose columns are scaled behind the product: a block is a row."""
    stored, scale = side.stored_array(product.stored), side.value(product.scale)
    weight = side.constant(product.stored)
    ends = limits(side.graph.constants[product.stored].dtype)
    if stored is None or scale is None or weight is None or ends is None or stored.ndim != 2:
        return None
    rows = stored if product.turned else stored.T
    if scale.size != rows.shape[0]:
        return None
    steps = np.asarray(scale, np.float64).reshape(-1, 1)
    turned = product.turned

    def pack(whole: Array) -> Array:
        return whole if turned else whole.T

    return BlockedWeight(
        weight=replace(weight, shape=rows.shape, grid=None),
        block=rows.shape[1],
        scale_dtype=str(scale.dtype),
        integers=rows.astype(np.int64),
        zeros=np.zeros(rows.shape),
        steps=np.broadcast_to(steps, rows.shape),
        ends=ends,
        pack=pack,
        fed=product.cast.outputs[0],
        as_fed=lambda real: (real / steps).T,
    )


def _array(side: ReadsConstants, node: Node, place: int) -> Array | None:
    """A constant input of a node as it is stored, integers widened."""
    name = node.input(place)
    if name not in side.graph.constants:
        return None
    value = side.stored_array(name)
    if value is None or value.dtype.kind in "iuf":
        return value
    return value.astype(np.int64 if "int" in value.dtype.name else np.float64)


def block_along(node: Node, rank: int) -> tuple[int, int]:
    """The axis along which a node's scales change by blocks, and the size of a block; 0 if none.

    ONNX states an axis and a size, torchao the size along every axis.
    """
    stated = node.attributes.get("block_size", 0) or 0
    if isinstance(stated, int):
        return (int(node.attributes.get("axis", 1)) % rank, stated) if rank else (0, 0)
    inside = [place for place, size in enumerate(stated) if size > 1]
    return (inside[0], int(stated[inside[0]])) if len(inside) == 1 else (0, 0)


def _absent(node: Node, place: int) -> bool:
    return place >= len(node.inputs) or not node.inputs[place]


def _weight(
    side: ReadsConstants, node: Node, place: int, shape: tuple[int, ...]
) -> StoredWeight | None:
    found = side.constant(node.inputs[place])
    return None if found is None else replace(found, shape=shape, grid=None)


def _dequantized(side: ReadsConstants, node: Node) -> BlockedWeight | None:
    """The operand of a DequantizeLinear with a block size."""
    stored, scales, zeros = (_array(side, node, place) for place in range(3))
    if stored is None or scales is None or scales.ndim != stored.ndim:
        return None
    axis, block = block_along(node, stored.ndim)
    if not block:
        return None
    low, high = (node.attributes.get(word) for word in ("quant_min", "quant_max"))
    ends = limits(side.graph.constants[node.inputs[0]].dtype)
    if ends is not None and isinstance(low, int) and isinstance(high, int):
        ends = low, high  # integers of few bits in the bytes of a wider type
    weight = _weight(side, node, 0, stored.shape)
    if ends is None or weight is None or (zeros is None and not _absent(node, 2)):
        return None
    which = np.arange(stored.shape[axis]) // block
    return BlockedWeight(
        weight=weight,
        block=block,
        axis=axis,
        scale_dtype=side.graph.constants[node.inputs[1]].dtype,
        integers=stored.astype(np.int64),
        zeros=_spread(zeros, which, axis, stored.shape, 0),
        steps=_spread(scales, which, axis, stored.shape, 0),
        ends=ends,
        pack=lambda whole: whole,
        fed=node.outputs[0],
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


def _product(side: ReadsConstants, node: Node) -> BlockedWeight | None:
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
        fed=node.inputs[1],
    )


def _table(side: ReadsConstants, node: Node) -> BlockedWeight | None:
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
        axis=axis,
        scale_dtype=side.graph.constants[node.inputs[2]].dtype,
        integers=fields.astype(np.int64),
        zeros=_spread(zeros, which, axis, fields.shape, 2 ** (bits - 1) if packed else 0),
        steps=_spread(scales, which, axis, fields.shape, 0),
        ends=(0, 2**bits - 1) if packed else ends,
        pack=(lambda whole: _packed(whole, bits)) if packed else (lambda whole: whole),
        fed=node.inputs[0],
    )


def _stated(side: ReadsConstants, entry: Quantization, fed: str) -> BlockedWeight | None:
    """A constant that states its scales itself."""
    stored, weight, ends = (
        side.stored_array(entry.tensor), side.constant(entry.tensor), limits(entry.dtype)
    )  # fmt: skip
    scales = np.asarray(entry.scale) if entry.scale else side.value(entry.scales)
    if stored is None or scales is None or weight is None or ends is None or not stored.ndim:
        return None
    axis, shape = entry.axis, stored.shape
    scale_dtype = "float32"
    if entry.block and axis is not None:
        counts = (*shape[:axis], -(-shape[axis] // entry.block), *shape[axis + 1 :])
        scales = np.asarray(scales, np.float64).reshape(counts)
        scale_dtype = _rounded_to(scales, side.graph.constants[entry.scales].dtype)
    return BlockedWeight(
        weight=replace(weight, grid=None),
        block=entry.block,
        axis=axis,
        scale_dtype=scale_dtype,
        integers=stored.astype(np.int64),
        zeros=_at_each(np.asarray(entry.zero_point or (0,), np.float64), entry, shape),
        steps=_at_each(scales, entry, shape),
        ends=ends,
        pack=lambda whole: whole,
        fed=fed,
        stated=True,
    )


def _at_each(values: Array, entry: Quantization, shape: tuple[int, ...]) -> Array:
    """The scale or the zero point at each element."""
    return np.array(np.broadcast_to(spread(values, shape, entry.axis, entry.block), shape))


def _rounded_to(scales: Array, dtype: str) -> str:
    """The type that scales were rounded to: a tool may round them to less than it stores."""
    shorter = scales.astype(numpy_dtype("bfloat16")).astype(np.float64)
    return "bfloat16" if np.array_equal(shorter, scales) else dtype


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


_DECODERS: Mapping[str, Callable[[ReadsConstants, Node], BlockedWeight | None]] = {
    "DequantizeLinear": _dequantized,
    "torchao.dequantize_affine.default": _dequantized,
    PRODUCT: _product,
    TABLE: _table,
}
