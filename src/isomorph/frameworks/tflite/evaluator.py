"""An interpreter of TFLite models in float64, fed and fetched at any tensor of the main graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isomorph.core.trace import Noise
from isomorph.frameworks.tflite.eval_plan import Plan, Planner
from isomorph.frameworks.tflite.eval_run import Run
from isomorph.frameworks.tflite.eval_steps import Step, compiled, grid_of
from isomorph.frameworks.tflite.op_facts import QUANTIZED
from isomorph.frameworks.tflite.program import TfliteProgram, TfliteTensor
from isomorph.frameworks.tflite.weight_cache import Weights
from isomorph.kernels.registry import Call
from isomorph.kernels.tflite.quantized import Reach, onto
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import SILENT, Array, NoiseSource, Rounding
from isomorph.oracle.rounded_constants import rounded_again
from isomorph.oracle.value import EvalValue, lifted

_PLANS = 64
"""Plans kept; a search that cuts everywhere would otherwise keep one for every cut."""

_FIXED_BYTES = 1 << 30
"""Results of constants alone that are kept between runs."""


class Evaluator:
    """One TFLite model, opened once and run many times.

    Opening refuses an operator without meaning; running computes only what is asked for, from
    the initial state of every variable.
    """

    def __init__(self, program: TfliteProgram, *, file: str | None = None) -> None:
        self._program = program
        self._parts = compiled(program, file=file)
        self._main = self._parts[0]
        self._weights = Weights(program)
        self._planner = Planner(self._parts, program.index)
        self._plans: dict[tuple[frozenset[int], frozenset[int]], Plan] = {}
        self._constant = _constants(self._main.steps, self._main.tensors)
        self._fixed: dict[int, list[EvalValue]] = {}
        self._room = _FIXED_BYTES
        self._magnitudes: dict[Any, Array] = {}
        self._magnitudes_of = b""

    def run(
        self, feeds: Mapping[str, Any], fetch: Sequence[str], noise: Noise | None = None
    ) -> dict[str, Any]:
        """Compute ``fetch`` from ``feeds``.

        Floats come back in float64, quantized tensors as the integers they hold: where the noise
        disturbs the quantizers these are float64 numbers of quanta. A float array fed to a
        quantized tensor is taken for real numbers and put onto its grid.
        """
        given = {self._planner.find(n): v for n, v in feeds.items() if v is not None}
        wanted = [self._planner.find(name) for name in fetch]
        plan = self._plan(frozenset(given), frozenset(wanted))
        evaluation = Run(
            self._parts,
            self._weights,
            noise,
            self._magnitudes_for(feeds) if noise is not None else None,
        )
        values = {index: self._fed(index, value, noise) for index, value in given.items()}
        results = {index: self._shown(values[index]) for index in wanted if index in values}

        def read(index: int) -> EvalValue:
            if index in values:
                return values[index]
            held = evaluation.held(self._main, index)
            return rounded_again(self._main.tensors[index].name, held, noise)

        for index in wanted:
            if index not in results and (self._stored(index)):
                results[index] = self._shown(read(index))
        whole = noise is None and not (self._constant & given.keys())
        for step, finished in plan.steps:
            outputs = self._fixed.get(step.index) if whole else None
            if outputs is None:
                outputs = evaluation.step(self._main, step, read, ())
                if whole:
                    self._keep(step, outputs)
            # One that lacks fails where it is read.
            for index, held in zip(step.outputs, outputs, strict=False):
                if index in given:
                    continue  # what is fed stays, though a step runs for its other outputs
                values[index] = held
                if index in wanted:
                    results[index] = self._shown(held)
            for index in finished:
                values.pop(index, None)
        return {name: results[index] for name, index in zip(fetch, wanted, strict=True)}

    def _plan(self, feeds: frozenset[int], fetch: frozenset[int]) -> Plan:
        key = (feeds, fetch)
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[key] = self._planner.plan(feeds, fetch)
        return self._plans[key]

    def _stored(self, index: int) -> bool:
        tensor = self._main.tensors[index]
        return tensor.constant or tensor.variable

    def _shown(self, held: EvalValue) -> Any:  # noqa: ANN401
        wide = held.wide()
        # A resource has no value that could be shown.
        return wide if isinstance(wide, np.ndarray) else None

    def _fed(self, index: int, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        tensor, array = self._main.tensors[index], np.asarray(value)
        if array.dtype.kind in "SU":
            array = array.astype(str).astype(object)
        constant = index in self._constant
        if tensor.dtype in QUANTIZED and array.dtype.kind == "f":
            return self._quantized(tensor, array, noise)
        if is_float(tensor.dtype) and array.dtype.kind in "fV":
            if constant and (own := _own(array, tensor.dtype)) is not None:
                # Fed with its own value, a constant stays what it was.
                return EvalValue(own, dtype=tensor.dtype, constant=True)
            return EvalValue(lifted(array), dtype=tensor.dtype)
        return EvalValue(array, dtype=tensor.dtype, constant=constant)

    def _quantized(self, tensor: TfliteTensor, array: Array, noise: Noise | None) -> EvalValue:
        grid = grid_of(tensor)
        if grid is None:
            return EvalValue(array.astype(numpy_dtype(tensor.dtype)), dtype=tensor.dtype)
        source: NoiseSource = SILENT
        if noise is not None and noise.quantizers:
            source = disturbing = Rounding(noise.seed, quantizers=True)
            disturbing.enter(("fed", tensor.index), 0.0)
        call = Call(op="QUANTIZE", noise=source)
        integers = onto(array.astype(np.float64), grid, call, keeps=False, reach=Reach())
        return EvalValue(integers, dtype=tensor.dtype)

    def _keep(self, step: Step, outputs: list[EvalValue]) -> None:
        if not step.outputs or any(index not in self._constant for index in step.outputs):
            return
        # Declared, and lifted beside it.
        cost = sum(16 * np.size(held.data) for held in outputs)
        if cost <= self._room:
            self._room -= cost
            self._fixed[step.index] = outputs

    def _magnitudes_for(self, feeds: Mapping[str, Any]) -> dict[Any, Array]:
        """The magnitudes of long sums, kept as long as the same values are fed."""
        mark = hashlib.blake2b(digest_size=16)
        for name in sorted(feeds):
            array = np.asarray(feeds[name])
            mark.update(repr((name, array.shape, array.dtype.str)).encode("utf-8", "replace"))
            plain = array.dtype.kind != "O" and array.size
            mark.update(np.ascontiguousarray(array).view(np.uint8).data if plain else b"")
        if mark.digest() != self._magnitudes_of:
            self._magnitudes, self._magnitudes_of = {}, mark.digest()
        return self._magnitudes


def _constants(steps: Sequence[Step], tensors: Sequence[TfliteTensor]) -> frozenset[int]:
    """Tensors that follow from stored ones alone."""
    known = {tensor.index for tensor in tensors if tensor.constant}
    for step in steps:
        if step.kernel is not None and all(index in known for index in step.needs):
            known.update(step.outputs)
    return frozenset(known)


def _own(array: Array, dtype: str) -> Array | None:
    """The array in its declared type, if it loses nothing there."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = array.astype(numpy_dtype(dtype))
    same = np.array_equal(narrow.astype(np.float64), lifted(array), equal_nan=True)
    return narrow if same else None
