"""One factor by which a whole weight was multiplied before it was quantized.

Converters multiply the scale of an attention, or a number behind a product, into the weight. The
numbers that its quantizer met are then the reference's times this factor. A scale that is wrong
multiplies the weight as well; so a factor counts only if the reference states or implies it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.implied_numbers import single_numbers

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.measure.quantization_grid import Grid

_WHOLE = 1.0


def foldable_factors(graph: Graph) -> tuple[float, ...]:
    """What converters may multiply into a weight: a number of the graph, its inverse, their roots.

    Attention without a stated scale multiplies by the inverse root of the size of its heads.
    """
    stated = {*single_numbers(graph, {}), *_attention_scales(graph)}
    factors = {number ** power for number in stated if number > 0.0 and math.isfinite(number)
               for power in (1.0, -1.0, 0.5, -0.5)}  # fmt: skip
    return tuple(sorted(factors - {_WHOLE}))


def _attention_scales(graph: Graph) -> Iterator[float]:
    specs = {**{each.name: each for each in graph.inputs}, **graph.tensors}
    for node in graph.nodes:
        if node.op == "Attention" and node.inputs:
            spec = specs.get(node.inputs[0])
            width = spec.shape[-1] if spec is not None and spec.shape else None
            if isinstance(width, int) and width > 0:
                yield 1.0 / math.sqrt(width)


def weight_factor(
    original: Array, stored: Array, grid: Grid, factors: Sequence[float]
) -> float | None:
    """The one of ``factors`` with which every element of ``original`` rounds to the stored one.

    None where the original does so as it is, or where no factor does it.
    """
    limits = _limits(original, stored, grid)
    if limits is None or limits[0] <= _WHOLE <= limits[1]:
        return None
    return next((each for each in factors if limits[0] <= each <= limits[1]), None)


def _limits(original: Array, stored: Array, grid: Grid) -> tuple[float, float] | None:
    """The smallest and largest factor that rounding leaves open; None where there is none."""
    if original.shape != stored.shape or not grid.fits(stored.shape):
        return None
    given = np.ravel(np.asarray(original, np.float64))
    low, high = (np.ravel(each) for each in grid.rounded_from(stored))
    used = given != 0.0
    if not np.isfinite(given).all() or not used.any():
        return None
    if ((low > 0.0) | (high < 0.0))[~used].any():
        return None
    ends = low[used] / given[used], high[used] / given[used]
    least, most = float(np.max(np.minimum(*ends))), float(np.min(np.maximum(*ends)))
    return (least, most) if least <= most else None
