"""Operators of TFLite for the float64 executor: real numbers on grids, states and sub-graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isomorph.frameworks.tflite.op_facts import NOISY_INSIDE
from isomorph.frameworks.tflite.program import ABSENT, TfliteTensor
from isomorph.kernels.tflite.quantized import Grid, Reach, onto, real_operands
from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import NO_NOISE, Array
from isomorph.oracle.step import Scope, Step, View, as_results
from isomorph.oracle.value import EvalValue, lifted

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.weights import WeightCache

Key = tuple[int, int]
"""A tensor by its sub-graph and its index there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteStep(Step[int]):
    """One operator.

    ``grids`` are those of its inputs and ``onto`` those of its outputs, None where a tensor is
    not quantized or the operator takes the integers as they are stored. ``keeps``: its
    results lie on their grid already. ``reach`` is the largest error of its integer arithmetic.
    ``parts`` are all sub-graphs of the program, ``part`` is the index of its own.
    """

    absent: ClassVar[Any] = ABSENT

    version: int
    part: int
    parts: Sequence[Part]
    weights: WeightCache[Key]
    kernel: Kernel | None
    input_dtypes: tuple[str | None, ...]
    grids: tuple[Grid | None, ...]
    onto: tuple[Grid | None, ...]
    state_grids: tuple[Grid | None, ...] = ()
    bodies: Mapping[str, int] = field(default_factory=dict)
    keeps: bool = False
    reach: Reach = Reach()  # noqa: RUF009 (frozen)

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """The file declares every type."""
        declared = self.attributes["output_dtypes"]
        # Half-width weights are widened before anything is computed with them.
        floats = [dtype for dtype in (*declared, *self.input_dtypes) if is_float(dtype)]
        quantized = any(grid is not None for grid in (*self.grids, *self.onto))
        call = Call(
            op=self.op,
            domain="tflite",
            version=self.version,
            attributes=self.attributes,
            outputs=len(self.outputs),
            # Quantized kernels multiply by their scales in float32, or better.
            dtype=floats[0] if floats else "float32" if quantized else None,
            constant=constant,
            input_dtypes=self.input_dtypes,
            site=site,
        )
        return call, declared

    def operands(
        self,
        inputs: Sequence[EvalValue],
        view: View,
        noise: Any,  # noqa: ANN401
    ) -> Sequence[Any]:
        """Real numbers instead of quantized integers."""
        keys = ((self.part, index) for index in self.inputs)
        ends = zip(keys, inputs, self.grids, strict=True)
        return real_operands(ends, self.weights, view, noise)

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By our kernel, and then onto the grids of the outputs."""
        if self.kernel is None:
            raise LookupError(f"{self.name} has no kernel")
        # Sums of integers are exact, and tables have a reach of their own: what a quantized
        # operator rounds, it rounds on its way onto the grid.
        grounded = any(grid is not None for grid in self.onto)
        silent = grounded and self.op not in NOISY_INSIDE
        inner = replace(call, noise=NO_NOISE) if silent else call
        results = as_results(self.kernel(inner, *arrays))
        return tuple(self._grounded(place, each, call) for place, each in enumerate(results))

    def _grounded(self, place: int, result: Any, call: Call) -> Array:  # noqa: ANN401
        """A result as its tensor declares it: on its grid, or in its integer type."""
        array = np.asarray(result)
        grid = (*self.onto, *self.state_grids)[place]
        declared = self.attributes["output_dtypes"][place] if place < len(self.outputs) else None
        if grid is not None and array.dtype.kind == "f":
            return onto(array, grid, call, keeps=self.keeps, reach=self.reach)
        if declared is not None and array.dtype.kind in "iub" and not is_float(declared):
            return array.astype(numpy_dtype(declared), copy=False)
        return array

    def moved_constants(
        self, values: list[EvalValue], moved: Sequence[Any], noise: Noise
    ) -> list[EvalValue]:
        """Quanta are moved where the noise disturbs the quantizers."""
        if not noise.quantizers:
            return values
        return [
            value if grid is None else EvalValue(result, dtype=value.dtype, constant=True)
            # States stand behind the outputs.
            for value, result, grid in zip(values, moved, self.onto, strict=False)
        ]

    def shifts(self, value: EvalValue) -> bool:
        """Floats keep their value and get a shift beside it."""
        return is_float(value.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One sub-graph: its steps in order, and what its tensors declare."""

    index: int
    tensors: tuple[TfliteTensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[TfliteStep, ...]
    weights: WeightCache[Key]

    def stored(self, key: int, executor: Executor, scope: Scope) -> EvalValue | None:
        """What a tensor holds before an operator has written it: its constant or its state."""
        if key == ABSENT:
            return None
        if not self.tensors[key].variable:
            return self.weights.value((self.index, key))
        return executor.states.setdefault((self.index, key), _initial(self.tensors[key]))

    def name(self, key: int, scope: Scope) -> str:
        """The name of a tensor."""
        return self.tensors[key].name


def grid_of(tensor: TfliteTensor) -> Grid | None:
    """The grid that a tensor declares, whatever its type; None where it declares none."""
    found, blocks = tensor.quantization, tensor.blocks
    if blocks is not None:
        scale = blocks.scales.astype(np.float64)
        return Grid(
            dtype=tensor.dtype, scale=scale, zero_point=np.zeros(scale.shape), axis=-1,
            block=blocks.size,
        )  # fmt: skip
    if found is None:
        return None
    return Grid(
        dtype=tensor.dtype,
        scale=np.asarray(found.scales, np.float64),
        zero_point=np.asarray(found.zero_points, np.float64),
        axis=found.axis,
    )


def _initial(tensor: TfliteTensor) -> EvalValue:
    """The value with which a variable tensor begins every run: the real number zero."""
    grid = grid_of(tensor)
    dtype = numpy_dtype(tensor.dtype)
    if grid is not None and not is_float(tensor.dtype):
        start = np.full(tensor.shape, grid.zero_point.reshape(-1)[0])
        return EvalValue(start.astype(dtype), dtype=tensor.dtype)
    return EvalValue(lifted(np.zeros(tensor.shape, dtype)), dtype=tensor.dtype)
