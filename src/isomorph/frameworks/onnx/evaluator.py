"""An interpreter of ONNX graphs in float64, fed and fetched at any top-level tensor."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from isomorph.core.last_node import leave
from isomorph.core.model import Quantization
from isomorph.core.trace import Noise
from isomorph.frameworks.onnx.declared_types import declared_types, of_proto
from isomorph.frameworks.onnx.eval_attributes import Read
from isomorph.frameworks.onnx.eval_plan import Plan, make_plan
from isomorph.frameworks.onnx.eval_program import Compiler, Program
from isomorph.frameworks.onnx.eval_run import Run
from isomorph.frameworks.onnx.op_facts import SHAPE_ONLY
from isomorph.frameworks.onnx.weight_cache import Fixed, Weights
from isomorph.kernels.quantized import requantize
from isomorph.kernels.registry import Call
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import (
    SILENT,
    Array,
    NoiseSource,
    Rounding,
)
from isomorph.oracle.rounded_constants import rounded_again
from isomorph.oracle.value import EvalValue, lifted

_PLANS = 64
"""Plans kept; a search that cuts everywhere would otherwise keep one for every cut."""


class Evaluator:
    """One ONNX model, opened once and run many times.

    ``read`` gives the value of a stored tensor, for models whose weights lie outside the proto.
    Opening refuses an operator without meaning; running computes only what is asked for.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        *,
        read: Read = numpy_helper.to_array,
        file: str | None = None,
        grids: Mapping[str, Quantization] | None = None,
    ) -> None:
        compiler = Compiler(model, read)
        self._program = compiler.graph(model.graph, compiler.opsets, {}, values=False)
        compiler.refuse_unsupported(file)
        self._weights = Weights(model.graph, read)
        self._types = declared_types(self._program, _given_types(model.graph, self._weights))
        self._constants = _constant_names(self._program, self._weights)
        self._fixed = Fixed(self._program, self._weights)
        self._plans: dict[tuple[frozenset[str], tuple[str, ...]], Plan] = {}
        self._magnitudes: dict[Any, Array] = {}
        self._magnitudes_of = b""
        self._grids = {n: g for n, g in (grids or {}).items() if n not in self._constants}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The graph's inputs that have no stored value."""
        return tuple(name for name in self._program.inputs if name not in self._weights)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The graph's outputs."""
        return self._program.outputs

    def run(
        self,
        feeds: Mapping[str, Any],
        fetch: Sequence[str],
        noise: Noise | None = None,
        keep: Callable[[str, Any], Any] = lambda _, value: value,
    ) -> dict[str, Any]:
        """Compute ``fetch`` from ``feeds``; floats come back in float64, the rest as declared.

        A float array fed to a quantized tensor is taken for real numbers and put onto its grid.
        ``keep`` says, as soon as a tensor is computed, how it is held.
        """
        plan = self._plan(frozenset(feeds), tuple(fetch))
        evaluation = Run(noise, self._magnitudes_for(feeds) if noise is not None else None)
        values = {name: self._fed(name, value, noise) for name, value in feeds.items()}
        results = {name: keep(name, values[name].wide()) for name in fetch if name in values}

        def read(name: str) -> EvalValue:
            if name in values:
                return values[name]
            return rounded_again(name, self._weights.held(name), noise)

        for name in fetch:
            if name in self._weights and name not in values:
                results[name] = keep(name, read(name).wide())
        fixed = self._fixed if noise is None and not (self._fixed.names & feeds.keys()) else None
        for step, finished in plan.steps:
            outputs = fixed.outputs(step) if fixed is not None else None
            if outputs is None:
                leave(step.name)
                outputs = evaluation.step(step, read, ())
                if fixed is not None:
                    fixed.keep(step, outputs)
            # A node may leave optional outputs out; one that lacks fails where it is read.
            for name, held in zip(step.outputs, outputs, strict=False):
                if name in feeds:
                    continue  # what is fed stays, though a step runs for its other outputs
                values[name] = rounded_again(name, held, noise)
                if name in plan.fetched:
                    results[name] = keep(name, values[name].wide())
            for name in finished:
                values.pop(name, None)
        return {name: results[name] for name in fetch}

    def _plan(self, feeds: frozenset[str], fetch: tuple[str, ...]) -> Plan:
        key = (feeds, fetch)
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[key] = make_plan(self._program, self._weights, feeds, fetch)
        return self._plans[key]

    def _fed(self, name: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        if value is None or isinstance(value, (list, tuple)):
            held = None if value is None else [np.asarray(item) for item in value]
            return EvalValue(lifted(held), dtype=self._types.get(name))
        array = np.asarray(value)
        if array.dtype.kind in "SU":
            array = array.astype(str).astype(object)
        declared = self._types.get(name)
        if name in self._grids and array.dtype.kind == "f" and not is_float(declared):
            return EvalValue(_quantized(array, self._grids[name], noise))
        tag = declared if is_float(declared) and is_float(array.dtype.name) else None
        if name in self._constants and tag is not None:
            # Fed with its own value, a constant stays what it was.
            with np.errstate(over="ignore", invalid="ignore"):
                narrow = array.astype(numpy_dtype(str(declared)))
            if np.array_equal(narrow.astype(np.float64), lifted(array), equal_nan=True):
                return EvalValue(narrow, constant=True)
        return EvalValue(lifted(array), dtype=tag, constant=name in self._constants and tag is None)

    def _magnitudes_for(self, feeds: Mapping[str, Any]) -> dict[Any, Array]:
        """The magnitudes of long sums, kept as long as the same values are fed."""
        mark = _digest(feeds)
        if mark != self._magnitudes_of:
            self._magnitudes, self._magnitudes_of = {}, mark
        return self._magnitudes


def _quantized(array: Array, entry: Quantization, noise: Noise | None) -> Array:
    """Real numbers on the grid of a tensor, or beside it where the noise disturbs quantizers."""
    source: NoiseSource = SILENT
    if noise is not None and noise.quantizers:
        source = disturbing = Rounding(noise.seed, quantizers=True)
        disturbing.enter(("fed", entry.tensor), 0.0)
    scale, zero = np.asarray(entry.scale, np.float64), np.asarray(entry.zero_point or (0,))
    call = Call(op="QuantizeLinear", noise=source)
    return requantize(array.astype(np.float64), scale, zero, entry.dtype, entry.axis, call)


def _given_types(graph: onnx.GraphProto, weights: Weights) -> dict[str, str | None]:
    known = {
        value.name: of_proto(value.type)
        for value in (*graph.input, *graph.output, *graph.value_info)
    }
    return {**known, **weights.types}


def _constant_names(program: Program, weights: Weights) -> frozenset[str]:
    """Tensors that depend on stored constants and shapes alone, as far as the graph shows it."""
    constant = set(weights)
    for step in program.steps:
        if step.op in SHAPE_ONLY or all(name in constant for name in step.needs):
            constant.update(step.outputs)
    return frozenset(constant)


def _digest(feeds: Mapping[str, Any]) -> bytes:
    mark = hashlib.blake2b(digest_size=16)
    for name in sorted(feeds):
        value = feeds[name]
        mark.update(name.encode("utf-8", "surrogateescape"))
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            mark.update(repr((value.shape, value.dtype.str)).encode())
            mark.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
        else:
            mark.update(repr(value).encode("utf-8", "surrogateescape"))
    return mark.digest()
