"""ONNX graphs for the float64 oracle, fed and fetched at any top-level tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from isomorph.core.model import Quantization
from isomorph.frameworks.onnx.declared_types import declared_types, of_proto
from isomorph.frameworks.onnx.eval_attributes import Read
from isomorph.frameworks.onnx.eval_program import Compiler
from isomorph.frameworks.onnx.stored_tensors import dense
from isomorph.kernels.quantized import requantize
from isomorph.oracle import evaluator as oracle
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import ONNX_DTYPES, is_float
from isomorph.oracle.evaluator import own_constant, words_as_objects
from isomorph.oracle.named_graph import NamedGraph, same_in_every_run
from isomorph.oracle.noise import Array, feed_source
from isomorph.oracle.plan import constant_tensors
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.core.execution import StoredProducts
    from isomorph.core.trace import Noise


class Evaluator(oracle.Evaluator[str]):
    """One ONNX model, loaded once and run many times.

    ``read`` returns the value of a stored tensor, for models whose weights lie outside the proto.
    An operator without a meaning is refused here. ``grids`` are the declared grids of quantized
    tensors, by name. ``products`` computes products with large stored matrices elsewhere.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        *,
        read: Read = numpy_helper.to_array,
        file: str | None = None,
        grids: Mapping[str, Quantization] | None = None,
        products: StoredProducts | None = None,
    ) -> None:
        self._onnx = OnnxGraph(model, read, file, grids or {})
        super().__init__(self._onnx, products)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The graph's outputs."""
        return self._onnx.outputs


class OnnxGraph(NamedGraph):
    """The main graph of a model: its steps, its initializers and what its tensors declare."""

    def __init__(
        self,
        model: onnx.ModelProto,
        read: Read,
        file: str | None,
        grids: Mapping[str, Quantization],
    ) -> None:
        compiler = Compiler(model, read)
        program = compiler.graph(model.graph, compiler.opsets, {}, values=False)
        compiler.refuse_unsupported(file)
        self._read = read
        self._protos = {tensor.name: tensor for tensor in model.graph.initializer}
        self._sparse = {each.values.name: each for each in model.graph.sparse_initializer}
        stored = {**self._protos, **self._sparse}
        weights: WeightCache[str] = WeightCache(self._stored_value)
        super().__init__(
            program.steps, program.inputs, program.outputs, stored=stored, weights=weights
        )
        self._types = declared_types(program, _given_types(model.graph))
        self._constants = constant_tensors(
            self.steps,
            stored,
            lambda step, known: step.shape_only or same_in_every_run(step, known),
        )
        self._grids = {name: grid for name, grid in grids.items() if name not in self._constants}

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """A fed array: on its tensor's grid, as the constant that it is, or as data."""
        declared = self._types.get(key)
        if value is None or isinstance(value, (list, tuple)):
            items = None if value is None else [np.asarray(item) for item in value]
            return EvalValue(lifted(items), dtype=declared)
        array = words_as_objects(np.asarray(value))
        if key in self._grids and array.dtype.kind == "f" and not is_float(declared):
            return EvalValue(_quantized(array, self._grids[key], noise))
        tag = declared if is_float(declared) and is_float(array.dtype.name) else None
        constant = key in self._constants
        if constant and tag is not None:
            own = own_constant(array, tag)
            return EvalValue(lifted(array), dtype=tag) if own is None else own
        return EvalValue(lifted(array), dtype=tag, constant=constant)

    def _stored_value(self, name: str) -> EvalValue:
        if name in self._sparse:
            return EvalValue(dense(self._sparse[name], self._read), constant=True)
        return EvalValue(np.asarray(self._read(self._protos[name])), constant=True)


def _quantized(array: Array, entry: Quantization, noise: Noise | None) -> Array:
    """Real numbers on the grid of a tensor, or beside it where the noise disturbs quantizers."""
    scale, zero = np.asarray(entry.scale, np.float64), np.asarray(entry.zero_point or (0,))
    call = Call(op="QuantizeLinear", noise=feed_source(noise, entry.tensor))
    return requantize(array.astype(np.float64), scale, zero, entry.dtype, entry.axis, call)


def _given_types(graph: onnx.GraphProto) -> dict[str, str | None]:
    known = {
        value.name: of_proto(value.type)
        for value in (*graph.input, *graph.output, *graph.value_info)
    }
    stored = (*graph.initializer, *(each.values for each in graph.sparse_initializer))
    return {**known, **{each.name: ONNX_DTYPES.get(each.data_type) for each in stored}}
