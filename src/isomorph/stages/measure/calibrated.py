"""What the grids of a model's inputs tell of the samples that it was calibrated on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.align.quantisers import written
from isomorph.stages.measure.grids import Grid

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization
    from isomorph.core.trace import Array, Arrays


def coarser(graph: Graph, feeds: Arrays) -> float:
    """How many times wider than these feeds the inputs' own grids are; never less than one.

    Calibration fits the grid of an input to its samples. Where these feeds fill a part of it
    only, every grid behind it was fitted to values that were wider by about as much, and is
    coarser than these need it. Of several inputs the best filled one counts: it excuses least.
    """
    grids = _of_inputs(graph)
    found = [
        _unfilled(Grid(grids[name]), np.asarray(value))
        for name, value in feeds.items()
        if name in grids and np.asarray(value).dtype.kind == "f"
    ]
    return max(1.0, min(found, default=1.0))


def _of_inputs(graph: Graph) -> dict[str, Quantization]:
    """The grid on which each input is put, by itself or by the node that reads it."""
    writers = written(graph)
    names = {spec.name for spec in graph.inputs}
    found = {name: writers[name] for name in names if name in writers}
    for node in graph.nodes:
        source = node.inputs[0] if node.inputs else None
        if node.op == "QuantizeLinear" and source in names and node.outputs[0] in writers:
            found.setdefault(str(source), writers[node.outputs[0]])
    return {name: entry for name, entry in found.items() if len(entry.scale) == 1}


def _unfilled(grid: Grid, real: Array) -> float:
    """The width of the grid over that of the values, zero among them."""
    low, high = grid.representable
    finite = np.where(np.isfinite(real), real, 0.0)
    width = float(finite.max(initial=0.0) - finite.min(initial=0.0))
    return (high - low) / width if width > 0.0 and np.isfinite(high - low) else 1.0
