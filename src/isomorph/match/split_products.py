"""Products that were split into blocks of columns: several weights equal one of the other graph.

MatMul(x, W) is Concat(MatMul(x, W[:, :n]), MatMul(x, W[:, n:])). The parts may be too small to be
matched by value; concatenated again they are a weight like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import LOOKED_UP_NUMBERS
from isomorph.match.element_bounds import (
    Elements,
    Source,
    compare_elements,
    informative_numbers,
)
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitProduct:
    """The weights of one product that was split, in the order of their columns."""

    parts: tuple[StoredWeight, ...]
    value: Array = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the weights that hold its parts."""
        return tuple(each.name for each in self.parts)

    @property
    def whole(self) -> StoredWeight:
        """The parts as one weight, of the narrowest of their types."""
        dtype = max((each.dtype for each in self.parts), key=unit_roundoff)
        return replace(self.parts[0], shape=self.value.shape, dtype=dtype)

    def columns(self, whole: Array) -> Iterator[tuple[StoredWeight, Array]]:
        """Yield each part with its columns of an array in the shape of the whole."""
        start = 0
        for part in self.parts:
            stop = start + part.shape[-1]
            yield part, whole[..., start:stop]
            start = stop


def split_products(side: Weights) -> Iterator[SplitProduct]:
    """Yield every product of a graph that is computed in blocks of columns and concatenated."""
    weights = {
        reader.node.name: weight
        for weight in side.stored.values()
        for reader in weight.readers
        if reader.node.op == "MatMul" and reader.slot == 1 and weight.direct
    }
    inner = {name for node in side.graph.nodes if _joins(node) for name in node.inputs}
    for node in side.graph.nodes:
        nested = node.outputs and node.outputs[0] in inner
        if not _joins(node) or nested or node.name not in side.useful:
            continue
        products = list(_products(node, side))
        parts = [weights.get(each.name) if each is not None else None for each in products]
        known = [each for each in parts if each is not None and each.grid is None]
        sources = {each.inputs[0] for each in products if each is not None}
        if len(known) < max(len(parts), 2) or len(sources) != 1:
            continue
        if len({each.shape[:-1] for each in known}) != 1 or len({e.name for e in known}) < 2:
            continue
        values = [side.real(each) for each in known]
        known_values = [each for each in values if each is not None]
        if sum(each.size for each in known_values) > LOOKED_UP_NUMBERS.most:
            LOOKED_UP_NUMBERS.reached()
        elif len(known_values) == len(known):
            yield SplitProduct(parts=tuple(known), value=np.concatenate(known_values, axis=-1))


def split_from(
    product: SplitProduct, sources: Sequence[StoredWeight], reference: Weights
) -> tuple[StoredWeight, Array, Elements] | None:
    """Return the weight that was split, its value, and its comparison with the parts."""
    for source in sources:
        value = reference.real(source) if source.shape == product.value.shape else None
        if value is None:
            continue
        elements = _compared(product, value, Source(dtype=source.dtype))
        if elements.equal or (elements.sparse and elements.informative > elements.count):
            return source, value, elements
    return None


def _compared(product: SplitProduct, expected: Array, source: Source) -> Elements:
    """Compare each part in its own type: one of them may be stored in a narrower one."""
    compared = [
        compare_elements(right, actual, part, source)
        for (part, right), (_, actual) in zip(
            product.columns(expected), product.columns(product.value), strict=True
        )
    ]
    beyond = np.concatenate([each.beyond for each in compared], axis=-1)
    between = np.concatenate([each.between for each in compared], axis=-1)
    informative = informative_numbers(expected[~beyond]) if beyond.any() else 0
    return Elements(beyond=beyond, between=between, informative=informative)


def _joins(node: Node) -> bool:
    axis = node.attributes.get("axis", node.attributes.get("dim"))
    return node.op == "Concat" and isinstance(axis, int)


def _products(node: Node, side: Weights) -> Iterator[Node | None]:
    """Yield the makers of a concatenation's inputs, including those of nested ones on its axis."""
    for name in node.inputs:
        maker = side.topology.maker.get(name)
        if maker is not None and _joins(maker) and maker.attributes == node.attributes:
            yield from _products(maker, side)
        else:
            yield maker if maker is not None and _along_columns(node, maker, side) else None


def _along_columns(node: Node, maker: Node, side: Weights) -> bool:
    """Whether a concatenation joins the results of products along their last axis."""
    axis = node.attributes.get("axis", node.attributes.get("dim"))
    if maker.op != "MatMul" or axis == -1:
        return maker.op == "MatMul"
    spec = side.graph.tensors.get(maker.outputs[0])
    return spec is not None and spec.shape is not None and axis == len(spec.shape) - 1
