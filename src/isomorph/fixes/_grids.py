"""Stored integers that stand for real numbers, where the grid is kept beside the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.align.quantisers import real_values, written
from isomorph.stages.diagnose import constants

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.model import Quantization
    from isomorph.core.trace import Array


def beside(case: Case) -> dict[str, Quantization]:
    """The grids of the candidate that no node holds: tensors whose makers are no quantisers.

    Where quantisers are nodes of their own, their scales are constants like any other.
    """
    apart = {
        name
        for node in case.candidate.nodes
        if node.op in {"QuantizeLinear", "DequantizeLinear"} and len(node.inputs) > 1
        for name in (*node.inputs, *node.outputs)
    }
    return {n: e for n, e in written(case.candidate).items() if n not in apart}


def stored_on_grids(case: Case) -> dict[str, Quantization]:
    """The constants of the guilty nodes that are integers on a grid of their own."""
    grids = beside(case)
    names = constants.names(case.candidate, case.nodes)
    return {name: grids[name] for name in names if name in grids}


def reals(case: Case, name: str, grid: Quantization) -> Array | None:
    """The numbers that a stored constant stands for."""
    held = case.constant(case.candidate, name)
    if held is None:
        return None
    return held if held.dtype.kind == "f" else real_values(np.asarray(held), grid)
