"""Stored tensors of a TFLite program: decoded when first needed, lifted once, within bounds."""

from __future__ import annotations

import numpy as np

from isomorph.frameworks.tflite.eval_steps import grid_of
from isomorph.frameworks.tflite.program import TfliteProgram
from isomorph.kernels.tflite.quantized import Grid, reals
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import Array
from isomorph.oracle.value import EvalValue, lifted

KEPT_BYTES = 4 << 30
"""Decoded and lifted weights kept between runs; beyond it they are made again each time."""


class Weights:
    """The constants of every sub-graph, by sub-graph and tensor."""

    def __init__(self, program: TfliteProgram) -> None:
        self._program = program
        self._kept: dict[tuple[int, int], EvalValue] = {}
        self._reals: dict[tuple[int, int, int], Array] = {}
        self._room = KEPT_BYTES

    def held(self, part: int, tensor: int) -> EvalValue:
        """The stored value as a constant; LookupError for a tensor that has none."""
        key = (part, tensor)
        if key in self._kept:
            return self._kept[key]
        declared = self._program.graphs[part].tensors[tensor]
        array = self._program.array(declared)
        if array is None:
            raise LookupError(f"{declared.name} has no stored value")
        held = EvalValue(array, dtype=declared.dtype, constant=True)
        # A float constant keeps its float64 copy beside it.
        if self._take(8 * array.size if is_float(declared.dtype) else 0):
            self._kept[key] = held
        return held

    def real(self, part: int, tensor: int, held: EvalValue, grid: Grid) -> Array:
        """The real numbers behind stored integers, on the grid of the operator that asks."""
        key = (part, tensor, id(grid))
        if key in self._reals:
            return self._reals[key]
        array = reals(held.data, grid)
        # Only what is stored is the same in every run; results of folding are not.
        known = self._kept.get((part, tensor))
        if known is not None and known.data is held.data and self._take(array.nbytes):
            self._reals[key] = array
        return array

    def initial(self, part: int, tensor: int) -> EvalValue:
        """The value with which a variable tensor begins every run: the real number zero."""
        declared = self._program.graphs[part].tensors[tensor]
        grid = grid_of(declared)
        dtype = numpy_dtype(declared.dtype)
        if grid is not None and not is_float(declared.dtype):
            start = np.full(declared.shape, grid.zero_point.reshape(-1)[0])
            return EvalValue(start.astype(dtype), dtype=declared.dtype)
        return EvalValue(lifted(np.zeros(declared.shape, dtype)), dtype=declared.dtype)

    def _take(self, cost: int) -> bool:
        if cost > self._room:
            return False
        self._room -= cost
        return True
