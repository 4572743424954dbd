"""Products of floats with a stored matrix of bytes, whose scale is multiplied behind the product.

torchao writes its weights of 8 bits so: integers, a cast, a product, a scale for each column. No
operator says that the integers are quantized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.graph_facts import once_per_graph
from isomorph.core.ops import RESHAPES

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose"})
_MOVES = RESHAPES | {"Transpose"}
_BYTES = frozenset({"int8", "uint8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteProduct:
    """A product, the cast that makes floats of the bytes, and what scales the result.

    ``scale`` is a tensor that is computed from constants; empty where the result is not scaled by
    one. ``turned``: the matrix is transposed on its way to the cast.
    """

    product: Node
    cast: Node
    stored: str
    turned: bool
    scale: str = ""


@once_per_graph
def byte_products(graph: Graph) -> tuple[ByteProduct, ...]:
    """Return every product of a graph that reads a stored matrix of bytes behind a cast."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    found = (
        _behind(graph, makers, product, name)
        for product in graph.nodes
        if product.op in _PRODUCTS
        for name in product.inputs
    )
    return tuple(each for each in found if each is not None)


def _behind(graph: Graph, makers: dict[str, Node], product: Node, name: str) -> ByteProduct | None:
    cast, turned = None, False
    while (maker := makers.get(name)) is not None and maker.op in {*_MOVES, "Cast"}:
        cast = maker if maker.op == "Cast" else cast
        turned ^= maker.op == "Transpose"
        name = maker.inputs[0]
    stored = graph.constants.get(name)
    if cast is None or stored is None or stored.dtype not in _BYTES or len(stored.shape) < 2:
        return None
    made = graph.tensors.get(cast.outputs[0])
    if made is None or "float" not in (made.dtype or ""):
        return None
    scale = _scale(graph, makers, product)
    return ByteProduct(product=product, cast=cast, stored=name, turned=turned, scale=scale)


def _scale(graph: Graph, makers: dict[str, Node], product: Node) -> str:
    """The tensor by which alone the result is multiplied, where constants give it."""
    readers = [node for node in graph.nodes if product.outputs[0] in node.inputs]
    if len(readers) != 1 or readers[0].op != "Mul" or len(readers[0].inputs) != 2:
        return ""
    (other,) = [name for name in readers[0].inputs if name != product.outputs[0]] or [""]
    root = other
    while (maker := makers.get(root)) is not None and maker.op in {*_MOVES, "Cast"}:
        root = maker.inputs[0]
    return other if root in graph.constants else ""
