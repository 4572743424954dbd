"""Stored integers that stand for real numbers, where the grid is kept beside the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.diagnose import node_constants
from isomorph.match.dequantized_graph import implicit_grids
from isomorph.sessions.dequantized_session import real_values

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array


def stored_on_grids(context: FaultContext) -> dict[str, Quantization]:
    """The constants of the faulty nodes that are integers on a grid of their own."""
    grids = implicit_grids(context.candidate)
    names = node_constants.names(context.candidate, context.nodes)
    return {name: grids[name] for name in names if name in grids}


def reals(context: FaultContext, name: str, grid: Quantization) -> Array | None:
    """The numbers that a stored constant stands for."""
    value = context.constant(context.candidate, name)
    if value is None:
        return None
    return value if value.dtype.kind == "f" else real_values(np.asarray(value), grid)
