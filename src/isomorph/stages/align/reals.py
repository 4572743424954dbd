"""A session whose quantised tensors are the real numbers that they stand for.

Where a framework keeps the grid beside the tensor, an integer alone means nothing: twins are found
among real numbers, and what is put in a tensor's place goes onto its grid by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.quantised import dequantise

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays, Noise
    from isomorph.stages.align.topology import Topology

_QUANTISERS = frozenset({"QuantizeLinear", "DequantizeLinear"})
_ENDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


def beside(graph: Graph) -> dict[str, Quantization]:
    """The grids that no node holds.

    Where scales are inputs of quantisers, they are constants like any other, and the integers
    between two quantisers are the graph's own business.
    """
    apart = any(node.op in _QUANTISERS and len(node.inputs) > 1 for node in graph.nodes)
    if apart:
        return {}
    entries = (each for each in reversed(graph.quantization) if each.scale and "int" in each.dtype)
    return {each.tensor: each for each in entries}


def cut_off(graph: Graph, values: Mapping[str, Any], topology: Topology) -> frozenset[str]:
    """Tensors with a value at the end of their range, and all that is computed from them.

    A range that was calibrated on other data cuts single values off by more than any noise
    would move them. Zero at the end of a range is what it was made for, and no cut.
    """
    found = set()
    for name, grid in beside(graph).items():
        value = values.get(name)
        if value is not None and len(grid.scale) == 1 and grid.dtype in _ENDS:
            ends = [(end - _first(grid.zero_point)) * grid.scale[0] for end in _ENDS[grid.dtype]]
            if any(end != 0.0 and np.any(value == end) for end in ends):
                found.add(name)
    return frozenset(found | topology.below(found))


def _first(zero_points: Sequence[int]) -> int:
    return zero_points[0] if zero_points else 0


def in_reals(session: Session, graph: Graph) -> Session:
    """The session itself where nothing is quantised beside its tensors."""
    grids = beside(graph)
    return RealSession(session, grids) if grids else session


class RealSession:
    """Fetches real numbers; takes real numbers for any quantised tensor."""

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
    return dequantise(value, np.asarray(grid.scale), zero if zero.size else None, grid.axis)
