"""ExecuTorch programs for the float64 oracle: one step per node, its kernel found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UnreadableModelError, listed
from isomorph.frameworks.executorch.op_names import words
from isomorph.frameworks.executorch.program import PteNode, PteProgram, PteTensor, Slot
from isomorph.kernels import registry
from isomorph.kernels.executorch.arithmetic import EDGE
from isomorph.kernels.executorch.xnnpack import TFLITE_NAMES, XNNPACK, clamped, quantized_rows
from isomorph.kernels.quantized import dequantize, ideal_rounding
from isomorph.kernels.tflite import quantized as grids_of
from isomorph.kernels.tflite.error_bounds import reach_of
from isomorph.kernels.tflite.quantized import Reach, onto
from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.named_graph import NamedGraph
from isomorph.oracle.noise import NO_NOISE, Array
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.step import Step, View, as_results
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.core.trace import Noise

_EXACT = frozenset(
    {
        "Transpose", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Tile", "Slice", "Gather",
        "Identity", "Reverse", "Roll", "Pad", "GatherElements", "Where", "Trilu", "Concat", "Split",
        "ConstantOfShape", "Range", "Constant", "Shape", "Size", "Relu", "Clip", "Max", "Min",
        "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Trunc", "MaxPool", "ReduceMax",
        "ReduceMin", "ReduceAny", "ArgMax", "ArgMin", "TopK", "Equal", "NotEqual", "Less",
        "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsInf", "IsNaN",
        "DepthToSpace", "SpaceToDepth", "Cast", "ScatterElements", "Diagonal", "NonZero",
    }
)  # fmt: skip
_DISCRETE = frozenset({"Floor", "Ceil", "Round", "Trunc", "Sign", "FloorDiv", "Mod"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(grids_of.Grid):
    """A grid whose scale ``block`` neighbors along its axis share, where that is not 0."""

    block: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PteStep(Step[str]):
    """One node. ``word`` is the operator's own name; ``made`` are the types of its outputs."""

    word: str
    kernel: Kernel
    read: tuple[str | None, ...]
    made: tuple[PteTensor, ...]
    weights: WeightCache[str]
    grids: tuple[Grid | None, ...] = ()
    onto: tuple[Grid | None, ...] = ()
    reach: Reach = Reach()  # noqa: RUF009 (frozen)

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """The file declares every type."""
        declared = [tensor.dtype for tensor in self.made]
        floats = [dtype for dtype in (*declared, *self.read) if is_float(dtype)]
        if not floats and any(grid is not None for grid in (*self.grids, *self.onto)):
            floats = ["float32"]
        call = Call(
            op=self.word,
            domain=EDGE,
            attributes=self.attributes,
            outputs=len(self.outputs),
            dtype=floats[0] if floats else None,
            constant=constant,
            input_dtypes=self.read,
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
        grids = self.grids or (None,) * len(inputs)
        return [
            view(value)
            if grid is None or value.data is None
            else self._real(name, value, grid, noise)
            for name, value, grid in zip(self.inputs, inputs, grids, strict=True)
        ]

    def _real(self, name: str, value: EvalValue, grid: Grid, noise: Any) -> Array:  # noqa: ANN401
        if not value.constant or value.data.dtype == np.float64:
            return _reals(value.data, grid)
        if not noise.quantizers or grid.dtype == "int32":
            array: Array = self.weights.derived(
                name, id(grid), value, lambda: _reals(value.data, grid)
            )
            return array
        noise.enter(("stored", name), noise.unit)
        real = _reals(value.data, grid)
        call = Call(op="stored", noise=noise)
        return np.asarray(
            real + ideal_rounding(real, grid.dtype, grid.axis, call, block=grid.block)
        )

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the kernel; numbers that a run computed take the places of attributes."""
        attributes = {name: _filled(value, arrays) for name, value in call.attributes.items()}
        taken = {each.index for value in call.attributes.values() for each in _slots(value)}
        rest = [array for place, array in enumerate(arrays) if place not in taken]
        inner = replace(call, attributes={**attributes, "target": self.made[0].dtype})
        quantized = any(grid is not None for grid in self.onto)
        # What a quantized node rounds, it rounds on its way onto the grid.
        silent = inner.with_noise(NO_NOISE) if quantized else inner
        results = as_results(self.kernel(silent, *rest))
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


def _reals(integers: Array, grid: Grid) -> Array:
    return dequantize(integers, grid.scale, grid.zero_point, grid.axis, block=grid.block)


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


class PteGraph(NamedGraph):
    """The nodes as steps, and what is stored."""

    def __init__(self, program: PteProgram, file: str) -> None:
        registry.load_all()
        self._tensors = program.tensors
        weights: WeightCache[str] = WeightCache(self._stored_value)
        steps = [_step(place, node, program, weights) for place, node in enumerate(program.nodes)]
        _refuse([node for node, step in zip(program.nodes, steps, strict=True) if not step], file)
        stored = [name for name, tensor in program.tensors.items() if tensor.data is not None]
        super().__init__(
            [step for step in steps if step is not None],
            program.inputs,
            [name for name in program.outputs if name],
            stored=frozenset(stored),
            weights=weights,
        )

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """Fed arrays are data, in the types that the file declares."""
        tensor, array = self._tensors[key], np.asarray(value)
        return EvalValue(lifted(array), dtype=tensor.dtype)

    def _stored_value(self, key: str) -> EvalValue:
        array = self._tensors[key].array() if key in self._tensors else None
        if array is None:
            raise LookupError(f"{key} has no stored value")
        return EvalValue(array, dtype=self._tensors[key].dtype, constant=True)


def _step(
    place: int, node: PteNode, program: PteProgram, weights: WeightCache[str]
) -> PteStep | None:
    word = words(node.native_op)[1]
    domain = XNNPACK if node.native_op.startswith("xnnpack.") else EDGE
    kernel = registry.find(domain, word, 1)
    if kernel is None:
        return None
    grids: tuple[Grid | None, ...] = ()
    targets: tuple[Grid | None, ...] = ()
    if domain == XNNPACK:
        grids = tuple(_grid(program.tensors[name]) if name else None for name in node.inputs)
        targets = tuple(_grid(program.tensors[name]) for name in node.outputs)
    return PteStep(
        index=place,
        name=node.name,
        op=node.op,
        word=word,
        inputs=node.inputs,
        outputs=node.outputs,
        attributes=node.attributes,
        kernel=kernel,
        weights=weights,
        grids=grids,
        onto=targets,
        reach=reach_of(TFLITE_NAMES.get(word, ""), grids, targets, {}),
        read=tuple(program.tensors[name].dtype if name else None for name in node.inputs),
        made=tuple(program.tensors[name] for name in node.outputs),
        shape_only=node.op in ("Shape", "Size"),
        discrete=node.op in _DISCRETE,
        exact=node.op in _EXACT,
        disturbable=any(map(is_inexact_number, node.attributes.values())),
    )


def _grid(tensor: PteTensor) -> Grid | None:
    found = tensor.grid
    if found is None:
        return None
    dtype = tensor.dtype if tensor.bits == 8 else "int4"
    return Grid(
        dtype=dtype,
        scale=found.scale.astype(np.float64),
        zero_point=found.zero_point.astype(np.float64),
        axis=found.axis,
        block=found.block,
    )


def _refuse(nodes: Sequence[PteNode], file: str) -> None:
    """The error for operators without a kernel."""
    if not nodes:
        return
    kinds: Mapping[str, str] = {node.native_op: node.name for node in nodes}
    raise UnreadableModelError(
        "UNSUPPORTED_OP",
        f"the oracle has no {listed(list(kinds))}",
        file=file,
        where=next(iter(kinds.values())),
        why="it has no meaning here",
        fix="lower the model without it",
    )
