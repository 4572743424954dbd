"""What the grids of a model's inputs tell of the samples that it was calibrated on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.stages.align.chance import FALSE_ALARM, beyond_another
from isomorph.stages.align.quantisers import written
from isomorph.stages.measure.grids import Grid
from isomorph.stages.run.real_numbers import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.core.model import Graph, Quantization
    from isomorph.core.trace import Array, Arrays


def coarser(graph: Graph, feeds: Arrays) -> float:
    """How many times wider than these feeds the inputs' own grids are; never less than one.

    Calibration fits the grid of an input to its samples. Where these feeds fill a part of it
    only, every grid behind it was fitted to values that were wider by about as much, and is
    coarser than these need it. Of several inputs the best filled one counts: it excuses least.
    """
    found = [_unfilled(Grid(grid), real) for real, grid in _fed(graph, feeds)]
    return max(1.0, min(found, default=1.0))


def unlike(graph: Graph, feeds: Arrays) -> bool:
    """Whether more of an input lies beyond its grid than chance explains."""
    return any(
        beyond_another(round(clipped(real, grid) * real.size), real.size) < FALSE_ALARM
        for real, grid in _fed(graph, feeds)
    )


def _fed(graph: Graph, feeds: Arrays) -> Iterator[tuple[Array, Quantization]]:
    """The real numbers that are fed to inputs with a grid, each with its grid."""
    for name, grid in _of_inputs(graph).items():
        real = np.asarray(feeds.get(name))
        if real.dtype.kind == "f":
            yield real, grid


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
