"""Which quantized tensors inside a graph are shown as real values.

Where a framework stores the quantization parameters beside a tensor, its integers alone cannot be
compared: tensors are matched by their real values, and substituted values are quantized again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.sessions.dequantized_session import DequantizedSession, RealPrecision

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization
    from isomorph.core.protocols import Session

_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})
GRID_OF_RESULT = {
    **dict.fromkeys(("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul"), (6, 7)),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool",
                     "QLinearGlobalAveragePool", "QLinearReduceMean"), (3, 4)),
    "QGemm": (7, 8), "QLinearConcat": (0, 1),
}  # fmt: skip
"""The inputs with the scale and the zero point of an integer operator's result."""

_TWO_OPERANDS = ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul", "QGemm")
GRIDS_READ = {
    **dict.fromkeys((*GRID_OF_RESULT, "DequantizeLinear"), ((0, 1, 2),)),
    **dict.fromkeys(_TWO_OPERANDS, ((0, 1, 2), (3, 4, 5))),
    "QLinearConcat": (),
}
"""The inputs with integers, and with the scale and the zero point of each."""


def implicit_grids(graph: Graph) -> dict[str, Quantization]:
    """Return the quantization of tensors whose parameters no node reads.

    Where scales are inputs of quantizers, they are constants like any other, and the integers
    between two quantizers are compared as they are.
    """
    apart = any(node.op in _QUANTIZERS and len(node.inputs) > 1 for node in graph.nodes)
    if apart:
        return {}
    entries = (each for each in reversed(graph.quantization) if each.scale and "int" in each.dtype)
    return {each.tensor: each for each in entries}


def result_grids(graph: Graph) -> dict[str, Quantization]:
    """Return the quantization of integers that an integer operator computes from integers.

    No node dequantizes them; the operator reads the parameters of its result.
    """
    makers = {name: node for node in graph.nodes for name in node.outputs}
    return {
        each.tensor: each
        for each in reversed(graph.quantization)
        if each.scale and each.tensor in makers and makers[each.tensor].op in GRID_OF_RESULT
    }


def dequantized(session: Session, graph: Graph) -> Session:
    """Return a session with real values for quantized tensors that no node dequantizes.

    This is ``session`` itself where there are none. Tensors that it dequantizes already are not
    dequantized twice.
    """
    known = session.grids if isinstance(session, DequantizedSession) else {}
    for grids in (implicit_grids(graph), result_grids(graph)):
        inside = {name: grid for name, grid in grids.items() if name not in known}
        if inside:
            return DequantizedSession(session, inside, RealPrecision.EXACT)
    return session
