"""Which quantized tensors of a graph are shown as real values, and a session that does so.

Where a framework stores the quantization parameters beside a tensor, its integers alone cannot be
compared: tensors are matched by their real values, and substituted values are quantized again by
the session.
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
    known = session.grids if isinstance(session, dequantized_session.RealSession) else {}
    grids = {name: grid for name, grid in implicit_grids(graph).items() if name not in known}
    if grids:
        return RealSession(session, grids)
    made = {name: grid for name, grid in result_grids(graph).items() if name not in known}
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
        return {
            name: dequantized_value(value, self._grids.get(name)) for name, value in found.items()
        }

    def close(self) -> None:
        """Let go of what the session holds."""
        self._session.close()


def dequantized_value(value: Any, grid: Quantization | None) -> Any:  # noqa: ANN401
    """The numbers behind quanta, which may be whole or, disturbed, lie between two."""
    if grid is None or not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        return value
    count, zero = len(grid.scale), np.asarray(grid.zero_point)
    if count > 1 and (grid.axis is None or value.shape[grid.axis : grid.axis + 1] != (count,)):
        return value  # scales that do not fit the shape cannot be applied
    return dequantize(value, np.asarray(grid.scale), zero if zero.size else None, grid.axis)
