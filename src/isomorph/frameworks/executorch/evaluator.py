"""ExecuTorch programs for the float64 oracle: one step per node, its kernel found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.executorch.op_names import words
from isomorph.frameworks.executorch.program import PteNode, PteProgram, PteTensor, Slot
from isomorph.kernels import registry
from isomorph.kernels.executorch.arithmetic import EDGE
from isomorph.kernels.executorch.xnnpack import TFLITE_NAMES, XNNPACK, clamped, quantized_rows
from isomorph.kernels.tflite.error_bounds import reach_of
from isomorph.kernels.tflite.quantized import Grid, Reach, onto, real_operands
from isomorph.oracle.call import Call
from isomorph.oracle.declared_graph import DeclaredGraph, DeclaredStep, evaluable
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import NO_NOISE, Array
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.step import View, as_results
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.oracle.noise import NoiseSource

_EXACT = MOVES_DATA | frozenset(
    {"Roll", "ConstantOfShape", "Range", "Trunc", "ReduceAny", "Equal", "NotEqual", "Less",
     "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsInf", "IsNaN",
     "Cast", "Diagonal", "NonZero"}
)  # fmt: skip
_ADDING = frozenset({"scatter_add", "index_put", "index_put_"})
"""Operators that may add up what they write in one place."""
_DISCRETE = frozenset({"Floor", "Ceil", "Round", "Trunc", "Sign", "FloorDiv", "Mod"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PteStep(DeclaredStep):
    """One node. ``made`` are its outputs, ``grids`` and ``onto`` the grids of both ends."""

    made: tuple[PteTensor, ...]
    weights: WeightCache[str]
    grids: tuple[Grid | None, ...] = ()
    onto: tuple[Grid | None, ...] = ()
    reach: Reach = Reach()  # noqa: RUF009 (frozen)

    def float_type(
        self, dtypes: Sequence[str | None], declared: Sequence[str | None]
    ) -> str | None:
        """That of its outputs first; quantized nodes multiply by their scales in float32."""
        quantized = any(grid is not None for grid in (*self.grids, *self.onto))
        found = DeclaredStep.float_type(self, declared, dtypes)
        return "float32" if found is None and quantized else found

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """Real numbers instead of quantized integers."""
        ends = zip(self.inputs, inputs, self.grids or (None,) * len(inputs), strict=True)
        return real_operands(ends, self.weights, view, noise)

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the kernel; numbers that a run computed take the places of attributes."""
        attributes = {name: _filled(value, arrays) for name, value in call.attributes.items()}
        taken = {each.index for value in call.attributes.values() for each in _slots(value)}
        rest = [array for place, array in enumerate(arrays) if place not in taken]
        inner = replace(call, attributes={**attributes, "target": self.made[0].dtype})
        quantized = any(grid is not None for grid in self.onto)
        # What a quantized node rounds, it rounds on its way onto the grid.
        silent = inner.with_noise(NO_NOISE) if quantized else inner
        kernel = self.kernel
        assert kernel is not None, "a node without a kernel is refused"
        results = as_results(kernel(silent, *rest))
        if self.grids:
            results = tuple(map(partial(self._finished, call), range(len(self.made)), results))
        return tuple(map(_typed, results, self.made))

    def _finished(self, call: Call, place: int, result: Any) -> Array:  # noqa: ANN401
        """A result of XNNPACK: with its fused bounds, in its shape, on its grid."""
        tensor, grid = self.made[place], self.onto[place]
        y = clamped(call, np.asarray(result))
        if None not in tensor.shape and y.size == math.prod(size or 0 for size in tensor.shape):
            y = y.reshape([size or 0 for size in tensor.shape])
        if tensor.dynamic:
            return quantized_rows(call, y)
        if grid is None or y.dtype.kind != "f":
            return y
        keeps = self.exact and any(each is not None and each.equals(grid) for each in self.grids)
        return onto(y, grid, call, keeps=keeps, reach=self.reach)

    def compute_declared(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Its results in the types that the file declares."""
        results = self.compute(call, arrays)
        pairs = zip(results, self.made, strict=False)
        return tuple(np.asarray(each).astype(numpy_dtype(made.dtype)) for each, made in pairs)


def _typed(result: Any, made: PteTensor) -> Any:  # noqa: ANN401
    """A result as its tensor declares it: integers in their type, floats as they are."""
    array = np.asarray(result)
    if not is_float(made.dtype):
        wide = array.dtype == np.float64 and made.dtype in ("int8", "uint8", "int16", "int32")
        return array if wide else array.astype(numpy_dtype(made.dtype), copy=False)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _slots(value: Any) -> list[Slot]:  # noqa: ANN401
    if isinstance(value, tuple):
        return [each for each in value if isinstance(each, Slot)]
    return [value] if isinstance(value, Slot) else []


def _filled(value: Any, arrays: Sequence[Any]) -> Any:  # noqa: ANN401
    if isinstance(value, tuple):
        return tuple(_filled(each, arrays) for each in value)
    return np.asarray(arrays[value.index]).item() if isinstance(value, Slot) else value


class PteGraph(DeclaredGraph):
    """The nodes as steps, and what is stored."""

    def __init__(self, program: PteProgram, file: str) -> None:
        registry.load_all()
        tensors = program.tensors

        def stored(key: str) -> EvalValue:
            return EvalValue(tensors[key].array(), dtype=tensors[key].dtype, constant=True)

        weights: WeightCache[str] = WeightCache(stored)
        steps = [_step(place, node, program, weights) for place, node in enumerate(program.nodes)]
        super().__init__(
            evaluable(
                steps, file=file, why="it has no meaning here", fix="lower the model without it"
            ),
            program.inputs,
            [name for name in program.outputs if name],
            types={name: tensor.dtype for name, tensor in tensors.items()},
            stored={name for name, tensor in tensors.items() if tensor.data is not None},
            weights=weights,
        )


def _step(place: int, node: PteNode, program: PteProgram, weights: WeightCache[str]) -> PteStep:
    word, tensors = words(node.native_op)[1], program.tensors
    domain = XNNPACK if node.native_op.startswith("xnnpack.") else EDGE
    made = tuple(tensors[name] for name in node.outputs)
    grids: tuple[Grid | None, ...] = ()
    targets: tuple[Grid | None, ...] = ()
    if domain == XNNPACK:
        grids = tuple(tensors[name].grid if name else None for name in node.inputs)
        targets = tuple(tensor.grid for tensor in made)
    return PteStep(
        index=place,
        name=node.name,
        op=word,
        native=node.native_op,
        domain=domain,
        inputs=node.inputs,
        outputs=node.outputs,
        attributes=node.attributes,
        kernel=registry.find(domain, word, 1),
        declared=tuple(tensor.dtype for tensor in made),
        made=made,
        weights=weights,
        grids=grids,
        onto=targets,
        reach=reach_of(TFLITE_NAMES.get(word, ""), grids, targets, {}),
        shape_only=node.op in ("Shape", "Size"),
        discrete=node.op in _DISCRETE,
        exact=node.op in _EXACT and word not in _ADDING,
        disturbable=any(map(is_inexact_number, node.attributes.values())),
    )
