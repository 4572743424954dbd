"""The loss of precision that a graph declares: narrow floats, quantized tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.graph_facts import once_per_graph
from isomorph.match.byte_products import byte_products
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.core.model import Constant, Graph, Node

QUANTIZED_OPS = frozenset(
    {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger",
     "QLinearConv", "QLinearMatMul", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
     "MatMulIntegerToFloat", "QGemm", "QAttention", "MatMulNBits",
     "GatherBlockQuantized", "FakeQuant", "PaletteLookup"}
)  # fmt: skip
_QUANTIZED = frozenset({"quantized"})
OF_SHAPES = ("Shape", "Size")
"""Operators that return a size and do not read values."""
_STEPS = frozenset({"Floor", "Ceil", "Round", "Sign", "Mod", "TopK", "Unique", "Hardmax"})
_OF_KINDS = frozenset({"IsNaN", "IsInf"})
"""Operators that tell numbers from what is none: rounding turns neither into the other."""
_NARROW = ("float16", "bfloat16", "float8", "float4")


@once_per_graph
def widths(graph: Graph) -> frozenset[str]:
    """Return the lossy types that the graph declares: narrow float weights, quantized tensors.

    A graph whose floats are mostly narrow counts as well, with or without weights, and so does one
    that is narrow from every input to every output. A few narrow tensors in a wide graph do not.
    """
    found = {each.dtype for _, each in constants_inside(graph) if each.dtype.startswith(_NARROW)}
    floats = [spec.dtype for spec in graph.tensors.values() if spec.dtype and "float" in spec.dtype]
    narrow = [dtype for dtype in floats if dtype.startswith(_NARROW)]
    if (2 * len(narrow) >= len(floats) > 0) or _narrow_between_doors(graph):
        found |= set(narrow)
    return frozenset(found | ({"quantized"} if quantized(graph) else set()))


def lower_precision(reference: Graph, candidate: Graph) -> frozenset[str]:
    """Return the lossy types that the candidate declares and the reference does not.

    Weights that both quantize, in blocks of other sizes, were rounded once more.
    """
    found = widths(candidate) - widths(reference)
    return found or (_QUANTIZED if requantized(reference, candidate) else frozenset())


def requantized(reference: Graph, candidate: Graph) -> bool:
    """Whether both graphs quantize, the candidate in blocks that the reference does not have."""
    blocks = _blocks(candidate)
    return bool(blocks) and quantized(reference) and not blocks <= _blocks(reference)


@once_per_graph
def _blocks(graph: Graph) -> frozenset[tuple[int, str]]:
    """Return the sizes of the blocks in which constants are quantized, each with its integers."""
    stated = (each for each in graph.quantization if each.block and each.tensor in graph.constants)
    found = {(each.block, "".join(filter(str.isdigit, each.dtype))) for each in stated}
    for node in graph.nodes:
        size = node.attributes.get("block_size")
        size = max(size) if isinstance(size, tuple) and size else size
        stored = [graph.constants[name].dtype for name in node.inputs if name in graph.constants]
        integers = [dtype for dtype in stored if "int" in dtype]
        if node.op in QUANTIZED_OPS and isinstance(size, int) and size > 0 and integers:
            bits = node.attributes.get("bits", "".join(filter(str.isdigit, integers[0])))
            bits = f"{node.attributes.get('quant_min', '')}{bits}"
            found.add((size, str(bits)))
    return frozenset(found)


def narrow_constants(graph: Graph) -> tuple[str, ...]:
    """Constants stored in a float type narrower than float32, those of bodies among them."""
    found = (name for name, each in constants_inside(graph) if each.dtype.startswith(_NARROW))
    return tuple(dict.fromkeys(found))


def constants_inside(graph: Graph) -> Iterator[tuple[str, Constant]]:
    """The constants of a graph and of the bodies of its nodes, by name."""
    yield from graph.constants.items()
    for node in graph.nodes:
        for body in node.bodies.values():
            yield from constants_inside(body)


@once_per_graph
def quantized(graph: Graph) -> bool:
    """Whether the graph declares quantized tensors or computes with them."""
    if graph.quantization or any(node.op in QUANTIZED_OPS for node in graph.nodes):
        return True
    return bool(byte_products(graph))


@once_per_graph
def jumps(graph: Graph) -> bool:
    """Whether a float determines a discrete value somewhere, so that noise may cause jumps.

    Examples are quantization, an index, a comparison, a branch. An undeclared type may be any.
    """
    return quantized(graph) or bool(jumping_nodes(graph))


@once_per_graph
def jumping_nodes(graph: Graph) -> tuple[Node, ...]:
    """Return the nodes that make a discrete value of a float, and those with bodies."""
    floats = {
        name
        for name, spec in graph.tensors.items()
        if not spec.dtype or spec.dtype.startswith(("float", "bfloat"))
    }
    floats.update(spec.name for spec in graph.inputs if "float" in (spec.dtype or "float"))
    shapes = (*OF_SHAPES, *operator_tables(graph.framework).shape_readers)
    return tuple(
        node
        for node in graph.nodes
        if node.op in _STEPS
        or bool(node.bodies)
        or _narrows(graph, node)
        or not (
            node.op.startswith(shapes)
            or node.op in _OF_KINDS
            or floats.isdisjoint(node.inputs)
            or floats.issuperset(filter(None, node.outputs))
        )
    )


def _narrows(graph: Graph, node: Node) -> bool:
    """Whether a node is an explicit cast to a narrower float, which rounds as Round does."""
    source = graph.tensors.get(node.inputs[0]) if node.inputs else None
    wide = source is None or not (source.dtype or "").startswith(_NARROW)
    return wide and _casts_narrow(graph, node.op, node.outputs)


def _narrow_between_doors(graph: Graph) -> bool:
    """Whether every float input and output is cast to and from a narrow type."""
    readers: dict[str, list[Node]] = {}
    makers: dict[str, Node] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
        makers.update(dict.fromkeys(node.outputs, node))
    entered = [
        readers[spec.name]
        for spec in graph.inputs
        if spec.dtype and "float" in spec.dtype and spec.name in readers
    ]
    left = [makers.get(spec.name) for spec in graph.outputs if spec.dtype and "float" in spec.dtype]
    return (
        bool(entered and left)
        and all(_casts_narrow(graph, node.op, node.outputs) for nodes in entered for node in nodes)
        and all(node is not None and _casts_narrow(graph, node.op, node.inputs) for node in left)
    )


def _casts_narrow(graph: Graph, op: str, tensors: tuple[str, ...]) -> bool:
    spec = graph.tensors.get(tensors[0]) if tensors else None
    return op == "Cast" and bool(spec and spec.dtype and spec.dtype.startswith(_NARROW))
