"""A session whose quantized tensors are the real numbers that they stand for.

Where a framework keeps the grid beside the tensor, an integer alone means nothing: twins are found
among real numbers, and what is put in a tensor's place goes onto its grid by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.quantized import dequantize
from isomorph.sessions import dequantized_session

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays, Noise

_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})
GRID_OF_RESULT = {
    **dict.fromkeys(("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul"), (6, 7)),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool",
                     "QLinearGlobalAveragePool", "QLinearReduceMean"), (3, 4)),
    "QGemm": (7, 8), "QLinearConcat": (0, 1),
}  # fmt: skip
"""Where an operator on integers reads the scale and the zero point of what it makes."""

_TWO_OPERANDS = ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul", "QGemm")
GRIDS_READ = {
    **dict.fromkeys((*GRID_OF_RESULT, "DequantizeLinear"), ((0, 1, 2),)),
    **dict.fromkeys(_TWO_OPERANDS, ((0, 1, 2), (3, 4, 5))),
    "QLinearConcat": (),
}
"""Where it reads integers, and the scale and the zero point of each."""


def beside(graph: Graph) -> dict[str, Quantization]:
    """The grids that no node holds.

    Where scales are inputs of quantizers, they are constants like any other, and the integers
    between two quantizers are the graph's own business.
    """
    apart = any(node.op in _QUANTIZERS and len(node.inputs) > 1 for node in graph.nodes)
    if apart:
        return {}
    entries = (each for each in reversed(graph.quantization) if each.scale and "int" in each.dtype)
    return {each.tensor: each for each in entries}


def computed(graph: Graph) -> dict[str, Quantization]:
    """The grids of integers that an operator on integers makes from integers.

    No node stands there that would show the real numbers; the operator is told their grid.
    """
    makers = {name: node for node in graph.nodes for name in node.outputs}
    return {
        each.tensor: each
        for each in reversed(graph.quantization)
        if each.scale and each.tensor in makers and makers[each.tensor].op in GRID_OF_RESULT
    }


def in_reals(session: Session, graph: Graph) -> Session:
    """The session itself where every quantized tensor is some node's business.

    Inputs and outputs that are seen in real numbers already are so once.
    """
    known = session.grids if isinstance(session, dequantized_session.RealSession) else {}
    grids = {name: grid for name, grid in beside(graph).items() if name not in known}
    if grids:
        return RealSession(session, grids)
    made = {name: grid for name, grid in computed(graph).items() if name not in known}
    return dequantized_session.RealSession(session, made) if made else session


class RealSession:
    """Fetches real numbers; takes real numbers for any quantized tensor."""

    def __init__(self, session: Session, grids: Mapping[str, Quantization]) -> None:
        self._session, self._grids = session, grids
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``."""
        found = (
            self._session.run(feeds, fetch)
            if noise is None
            else self._session.run(feeds, fetch, noise=noise)
        )
        return {name: real(value, self._grids.get(name)) for name, value in found.items()}

    def close(self) -> None:
        """Let go of what the session holds."""
        self._session.close()


def real(value: Any, grid: Quantization | None) -> Any:  # noqa: ANN401
    """The numbers behind quanta, which may be whole or, disturbed, lie between two."""
    if grid is None or not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        return value
    count, zero = len(grid.scale), np.asarray(grid.zero_point)
    if count > 1 and (grid.axis is None or value.shape[grid.axis : grid.axis + 1] != (count,)):
        return value  # as it is: scales that do not fit the shape say nothing
    return dequantize(value, np.asarray(grid.scale), zero if zero.size else None, grid.axis)
