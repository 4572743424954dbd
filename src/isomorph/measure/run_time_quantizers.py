"""Nodes whose kernel quantizes activations when it runs, where no graph shows a quantizer.

The oracle keeps activations in float, so the graphs of two models may be equal and their runs not.
What such a quantizer loses is declared by the node, by an attribute or by its types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.graph_facts import once_per_graph
from isomorph.core.trace import Noise
from isomorph.measure.precision import QUANTIZED_OPS, widths
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.core.model import Graph, Node

CODE = "ACTIVATIONS_QUANTIZED"
"""Of the finding that names such nodes."""
PACKED_PRODUCT = "MatMulNBits"
"""The operator that quantizes its activations only where an attribute allows it."""
ACCURACY_LEVEL = "accuracy_level"
_INT8 = 4
"""The accuracy level at which a kernel may compute in int8."""
_ALWAYS = frozenset({"DynamicQuantizeMatMul", "DynamicQuantizeLSTM"})
_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", PACKED_PRODUCT})


@once_per_graph
def run_time_quantizers(graph: Graph) -> tuple[Node, ...]:
    """Return the nodes that quantize activations when they run, those of bodies among them."""
    return tuple(node for node, own in _nodes(graph) if _quantizes(own, node))


def added_run_time_quantizers(reference: Graph, candidate: Graph) -> tuple[Node, ...]:
    """Return the nodes of the candidate that quantize activations which the reference does not.

    A product that was split or fused has another number of nodes. So nodes are added only if the
    reference has another product in their place: one of the same weights, or one more that stays
    in float.
    """
    found = run_time_quantizers(candidate)
    kept = run_time_quantizers(reference)
    known = _weights(reference, kept)
    new = tuple(node for node in found if known.isdisjoint(_weights(candidate, (node,))))
    if not kept:
        return found
    floats = _weights(reference, _float_products(reference))
    changed = tuple(node for node in new if not floats.isdisjoint(_weights(candidate, (node,))))
    more = len(_float_products(reference)) > len(_float_products(candidate))
    return changed or (new if more and len(found) > len(kept) else ())


def execution_noise(graph: Graph, seed: int, run_dtype: str = "") -> Noise:
    """Return what moves a run of the stored weights: its rounding, and its quantizers.

    Weights in packed blocks are stored, and no run quantizes them again. A runtime may omit
    other roundings that the graph states.
    """
    stored = widths(graph) == {"quantized"} and not graph.quantization
    packed = stored and all(
        node.op == PACKED_PRODUCT for node, _ in _nodes(graph) if node.op in QUANTIZED_OPS
    )
    return Noise(
        seed=seed, rounding=True, quantizers=not packed, run_time=True, run_dtype=run_dtype
    )


def _nodes(graph: Graph) -> Iterator[tuple[Node, Graph]]:
    """Every node of a graph and of its bodies, with the graph that holds it."""
    for node in graph.nodes:
        yield node, graph
        for body in node.bodies.values():
            yield from _nodes(body)


def _quantizes(graph: Graph, node: Node) -> bool:
    if node.op == PACKED_PRODUCT:
        return int(node.attributes.get(ACCURACY_LEVEL, 0) or 0) == _INT8
    places = operator_tables(graph.framework).run_time_quantizers.get(node.native_op)
    if node.op in _ALWAYS or places is None:
        return node.op in _ALWAYS
    activation, weight = (_dtype(graph, node.input(place)) for place in places)
    return activation.startswith("float") and "int" in weight


def _dtype(graph: Graph, name: str) -> str:
    stored = graph.constants.get(name) or graph.tensors.get(name)
    return "" if stored is None else stored.dtype or ""


def _float_products(graph: Graph) -> tuple[Node, ...]:
    quantized = {id(node) for node in run_time_quantizers(graph)}
    return tuple(
        node for node, _ in _nodes(graph) if node.op in _PRODUCTS and id(node) not in quantized
    )


def _weights(graph: Graph, nodes: tuple[Node, ...]) -> set[str]:
    """Return the digests of the stored tensors that these nodes read, scalars left out."""
    names = {name for node in nodes for name in node.inputs if name in graph.constants}
    found = (graph.constants[name] for name in names)
    return {each.digest for each in found if len(each.shape) > 1}
