"""One evaluation of a TFLite program: widths, grids, noise and state of every operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.last_node import leave
from isomorph.core.trace import Noise
from isomorph.frameworks.tflite import eval_control as control
from isomorph.frameworks.tflite.eval_steps import Part, Step
from isomorph.frameworks.tflite.op_facts import (
    CONTROL,
    DISCRETE,
    EXACT,
    NOISY_INSIDE,
    SHAPE_ONLY,
    STATE,
)
from isomorph.frameworks.tflite.program import ABSENT
from isomorph.frameworks.tflite.weight_cache import Weights
from isomorph.kernels.registry import Call
from isomorph.kernels.tflite.quantized import Grid, onto, reals, stored_reals
from isomorph.oracle.dtypes import HALVES, is_float, numpy_dtype
from isomorph.oracle.noise import SILENT, Array, Rounding, generator
from isomorph.oracle.rounding_rules import (
    arithmetic_unit,
    difference,
    disturbed_attributes,
    stored_noise,
)
from isomorph.oracle.value import ABSENT as NOTHING
from isomorph.oracle.value import EvalValue, lifted, stored

Site = tuple[int, ...]
Read = Callable[[int], EvalValue]


class Run:
    """The state of one evaluation: its noise and its variables, which begin as the file says."""

    def __init__(
        self,
        parts: Sequence[Part],
        weights: Weights,
        noise: Noise | None,
        magnitudes: dict[Any, Array] | None = None,
    ) -> None:
        self.parts, self.weights, self.noise = parts, weights, noise
        self.variables: dict[str, EvalValue] = {}
        self._states: dict[tuple[int, int], EvalValue] = {}
        self._source: Rounding | None = None
        if noise is not None and (noise.rounding or noise.quantizers):
            self._source = Rounding(
                noise.seed, quantizers=noise.quantizers, scale=noise.scale, cache=magnitudes
            )

    def part(self, index: int, given: Sequence[EvalValue], site: Site) -> list[EvalValue]:
        """A sub-graph from beginning to end."""
        part = self.parts[index]
        # What is not given is read as stored.
        values = dict(zip(part.inputs, given, strict=False))

        def read(tensor: int) -> EvalValue:
            return values[tensor] if tensor in values else self.held(part, tensor)

        for step in part.steps:
            # One that lacks fails where it is read.
            values.update(zip(step.outputs, self.step(part, step, read, site), strict=False))
        return [read(tensor) for tensor in part.outputs]

    def held(self, part: Part, tensor: int) -> EvalValue:
        """What a tensor holds before any operator has written it."""
        if tensor == ABSENT:
            return NOTHING
        if not part.tensors[tensor].variable:
            return self.weights.held(part.index, tensor)
        key = (part.index, tensor)
        if key not in self._states:
            self._states[key] = self.weights.initial(part.index, tensor)
        return self._states[key]

    def step(self, part: Part, step: Step, read: Read, site: Site) -> list[EvalValue]:
        """The outputs of one operator."""
        leave(step.name)
        site = (*site, step.index)
        inputs = [NOTHING if index == ABSENT else read(index) for index in step.inputs]
        if step.op in CONTROL or step.op in STATE:
            return control.run(self, step, inputs, site)
        if step.op in SHAPE_ONLY or all(held.constant for held in inputs):
            return self._among_constants(part, step, inputs, site)
        call = _call(step, site, constant=False)
        results = self._disturbed(part, step, call, inputs, site)
        # An operator without states gives none behind its outputs.
        for index, result in zip(step.states, results[len(step.outputs) :], strict=False):
            dtype = part.tensors[index].dtype
            self._states[part.index, index] = EvalValue(lifted(result), dtype=dtype)
        return [
            EvalValue(lifted(result), dtype=dtype)
            # States stand behind the outputs.
            for result, dtype in zip(results, step.attributes["output_dtypes"], strict=False)
        ]

    def _among_constants(
        self, part: Part, step: Step, inputs: Sequence[EvalValue], site: Site
    ) -> list[EvalValue]:
        """In the declared types; how far the noise moves it is measured beside it, in float64."""
        dtypes = step.attributes["output_dtypes"]
        call = _call(step, site, constant=True)
        narrow = self._operands(part, step, inputs, EvalValue.working, SILENT)
        results = _grounded(step, _compute(step, call, narrow), call)
        made = [
            EvalValue(stored(result, dtype), dtype=dtype, constant=True)
            # States stand behind the outputs.
            for result, dtype in zip(results, dtypes, strict=False)
        ]
        if self.noise is None or step.op in DISCRETE or step.op in SHAPE_ONLY:
            return made
        moved = self._disturbed(part, step, call, inputs, site)
        if self.noise.quantizers:
            # States stand behind the outputs.
            moved_made = zip(made, moved, step.onto, strict=False)
            made = [
                held if grid is None else EvalValue(result, dtype=held.dtype, constant=True)
                for held, result, grid in moved_made
            ]
        wide = self._operands(part, step, inputs, EvalValue.still, SILENT)
        still = _grounded(step, _compute(step, call, wide), call)
        # States stand behind the outputs.
        for held, one, other in zip(made, moved, still, strict=False):
            held.shift = difference(one, other) if is_float(held.dtype) else None
        return made

    def _disturbed(
        self, part: Part, step: Step, call: Call, inputs: Sequence[EvalValue], site: Site
    ) -> tuple[Any, ...]:
        """The operator in float64 under the noise of this evaluation, if there is any."""
        noise, source = self.noise, self._source
        if noise is not None and noise.attributes:
            random = generator(noise.seed, (*site, "attributes"))
            call = replace(call, attributes=disturbed_attributes(step.attributes, random))
        if noise is not None and source is not None:
            source.enter(site, arithmetic_unit(call.dtype) if noise.rounding else 0.0)
            # Sums of integers are exact, and tables have a reach of their own: what a quantized
            # operator rounds, it rounds on its way onto the grid.
            grounded = any(grid is not None for grid in step.onto)
            inner = SILENT if grounded and step.op not in NOISY_INSIDE else source
            arrays = self._operands(part, step, inputs, EvalValue.wide, source)
            source.enter(site, source.unit)
            results = _compute(step, replace(call, noise=inner), arrays)
            results = _grounded(step, results, replace(call, noise=source))
            if noise.rounding and call.dtype in HALVES and step.op not in EXACT:
                results = tuple(stored_noise(each, call.dtype, source) for each in results)
            return results
        arrays = self._operands(part, step, inputs, EvalValue.wide, SILENT)
        return _grounded(step, _compute(step, call, arrays), call)

    def _operands(
        self,
        part: Part,
        step: Step,
        inputs: Sequence[EvalValue],
        view: Callable[[EvalValue], Any],
        source: Any,  # noqa: ANN401
    ) -> list[Any]:
        """Arrays for the kernel: real numbers instead of quantized integers."""
        return [
            view(held)
            if grid is None or not isinstance(held.data, np.ndarray)
            else self._real(part, index, held, grid, source)
            for index, held, grid in zip(step.inputs, inputs, step.grids, strict=True)
        ]

    def _real(self, part: Part, index: int, held: EvalValue, grid: Grid, source: Any) -> Array:  # noqa: ANN401
        if not held.constant or held.data.dtype == np.float64:
            return reals(held.data, grid)
        if not source.quantizers or grid.dtype in ("int32", "int64"):
            return self.weights.real(part.index, index, held, grid)
        # The step of a stored tensor belongs to the tensor: everyone who reads it sees the same.
        source.enter(("stored", part.index, index), source.unit)
        return stored_reals(held.data, grid, Call(op="stored", noise=source))


def _call(step: Step, site: Site, *, constant: bool) -> Call:
    # Half-width weights are widened before anything is computed with them.
    types = (*step.attributes["output_dtypes"], *step.input_dtypes)
    floats = [dtype for dtype in types if is_float(dtype)]
    quantized = any(grid is not None for grid in (*step.grids, *step.onto))
    return Call(
        op=step.op,
        domain="tflite",
        version=step.version,
        attributes=step.attributes,
        outputs=len(step.outputs),
        # Quantized kernels multiply by their scales in float32, or better.
        dtype=floats[0] if floats else "float32" if quantized else None,
        constant=constant,
        input_dtypes=step.input_dtypes,
        site=site,
    )


def _compute(step: Step, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    if step.kernel is None:
        raise LookupError(f"{step.name} has no kernel")
    try:
        with np.errstate(all="ignore"):
            results = step.kernel(call, *arrays)
    except (IsomorphError, MemoryError):
        raise
    except Exception as error:
        raise RuntimeFailedError(
            "NODE_FAILED",
            "the oracle could not compute a node",
            where=step.name,
            why=f"{type(error).__name__}: {error}",
            fix="check the shapes and options of this operator's inputs",
        ) from error
    return results if isinstance(results, tuple) else (results,)


def _grounded(step: Step, results: tuple[Any, ...], call: Call) -> tuple[Any, ...]:
    """Every result as its tensor declares it: on its grid, or in its integer type."""
    made = []
    for place, result in enumerate(results):
        array = np.asarray(result)
        grid = (*step.onto, *step.state_grids)[place]
        declared = step.attributes["output_dtypes"][place] if place < len(step.outputs) else None
        if grid is not None and array.dtype.kind == "f":
            array = onto(array, grid, call, keeps=step.keeps, reach=step.reach)
        elif declared is not None and array.dtype.kind in "iub" and not is_float(declared):
            array = array.astype(numpy_dtype(declared), copy=False)
        made.append(array)
    return tuple(made)
