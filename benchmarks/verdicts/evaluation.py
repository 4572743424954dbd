"""A model evaluated node by node: as declared, in float64, or in float64 with rounding as noise.

The noise has the size of the declared arithmetic: a result that its type cannot hold is moved by up
to one rounding, a sum by a rounding of the sum of magnitudes, an operator with inner steps by a few
roundings of what it reads. An exact result is left alone: no tie without a rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .kernels import Array, Kernel, attributes

EXACT = frozenset(
    [
        "Relu",
        "Abs",
        "Neg",
        "Identity",
        "Max",
        "Min",
        "Clip",
        "Sign",
        "Floor",
        "Ceil",
        "Round",
        "Where",
        "Greater",
        "Less",
        "GreaterOrEqual",
        "LessOrEqual",
        "Equal",
        "Not",
        "And",
        "Or",
        "Xor",
        "ArgMax",
        "ArgMin",
        "TopK",
        "Hardmax",
        "Transpose",
        "Reshape",
        "Concat",
        "Split",
        "Slice",
        "Gather",
        "GatherElements",
        "GatherND",
        "Pad",
        "Expand",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
        "Tile",
        "DepthToSpace",
        "SpaceToDepth",
        "MaxPool",
        "GlobalMaxPool",
        "ReduceMax",
        "ReduceMin",
        "Shape",
        "Size",
        "Range",
        "OneHot",
        "NonZero",
        "Compress",
        "ScatterND",
        "ScatterElements",
        "Trilu",
        "IsNaN",
        "IsInf",
        "EyeLike",
        "ThresholdedRelu",
        "Mod",
    ]
)
SUMS = frozenset(
    [
        "MatMul",
        "Gemm",
        "Conv",
        "ConvTranspose",
        "Einsum",
        "ReduceSum",
        "ReduceMean",
        "ReduceL1",
        "AveragePool",
        "Sum",
        "Mean",
        "GlobalAveragePool",
        "CumSum",
    ]
)
PLAIN = frozenset(
    ["Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "LeakyRelu", "PRelu", "HardSigmoid"]
)
FLOATS = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
}
FLOAT32 = np.dtype(np.float32)
# Roundings that an operator with inner steps makes of its result; libraries approximate as well.
INNER = 4


@dataclass(frozen=True)
class Step:
    """A node, taken apart once."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    kernel: Kernel | None
    bodies: Mapping[str, Plan]


@dataclass(frozen=True)
class Plan:
    """A graph, taken apart once."""

    constants: tuple[tuple[str, Array], ...]
    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class Scope:
    """What the tensors of a graph hold, and of which type they were declared."""

    values: dict[str, Array]
    kinds: dict[str, np.dtype]

    def inner(self) -> Scope:
        return Scope(dict(self.values), dict(self.kinds))

    def keep(self, name: str, value: Array, kind: np.dtype, *, wide: bool) -> None:
        value = np.asarray(value)
        if wide and is_float(value.dtype):
            value = value.astype(np.float64)
        else:
            kind = value.dtype
        self.values[name], self.kinds[name] = value, kind


class Evaluation:
    """``run`` gives the outputs; with ``rng`` every rounding is drawn.

    ``wide`` False computes in the declared types instead. ``loose`` also moves constants of less
    than 32 bits by one rounding, as a conversion to such a type may have done.
    """

    def __init__(self, model: onnx.ModelProto, *, wide: bool = True, loose: bool = False) -> None:
        self._wide = wide
        self._loose = loose
        opset = next(e.version for e in model.opset_import if e.domain in ("", "ai.onnx"))
        self._plan = _plan(model.graph, opset)

    def run(
        self, feeds: Mapping[str, Array], rng: np.random.Generator | None = None
    ) -> dict[str, Array]:
        values = self.all_tensors(feeds, rng)
        return {name: values[name] for name in self._plan.outputs}

    def all_tensors(
        self, feeds: Mapping[str, Array], rng: np.random.Generator | None = None
    ) -> dict[str, Array]:
        """Every tensor of the outermost graph."""
        scope = Scope({}, {})
        for name, array in feeds.items():
            scope.keep(name, array, array.dtype, wide=self._wide)
        with np.errstate(all="ignore"):
            self._graph(self._plan, scope, rng)
        return scope.values

    def _graph(self, plan: Plan, scope: Scope, rng: Any) -> None:
        for name, stored in plan.constants:
            scope.keep(name, self._moved(stored, rng), stored.dtype, wide=self._wide)
        for step in plan.steps:
            self._step(step, scope, rng)

    def _moved(self, stored: Array, rng: Any) -> Array:
        narrow = is_float(stored.dtype) and stored.dtype.itemsize < 4
        if rng is None or not narrow or not self._loose:
            return stored
        wide = stored.astype(np.float64)
        return wide * (1 + unit(stored.dtype) * rng.uniform(-1, 1, wide.shape))

    def _step(self, step: Step, scope: Scope, rng: Any) -> None:
        inputs = [scope.values[name] if name else None for name in step.inputs]
        input_kinds = [scope.kinds[name] if name else None for name in step.inputs]
        kind = next((k for k in input_kinds if k is not None and is_float(k)), FLOAT32)
        kinds: list[np.dtype] | None = None
        if step.op == "If":
            results, kinds = self._if(step, inputs, scope, rng)
        elif step.op == "Loop":
            results, kinds = self._loop(step, inputs, input_kinds, scope, rng)
        elif step.op == "Cast":
            kind, results = self._cast(step.attributes["to"], inputs[0], input_kinds[0])
        elif step.op in ("Constant", "ConstantOfShape"):
            stored = step.kernel(inputs)[0]
            kind, results = stored.dtype, [self._moved(stored, rng)]
        else:
            results = self._computed(step, inputs, kind, rng)
        kinds = kinds or [kind] * len(results)
        for name, result, each in zip(step.outputs, results, kinds, strict=False):
            if name:
                scope.keep(name, result, each, wide=self._wide)

    def _cast(self, target: int, value: Array, kind: np.dtype) -> tuple[np.dtype, list[Array]]:
        wanted = FLOATS.get(target) or np.dtype(helper.tensor_dtype_to_np_dtype(target))
        if not self._wide or not is_float(wanted) or not is_float(value.dtype):
            return wanted, [value.astype(wanted)]
        narrows = wanted.itemsize < kind.itemsize or (wanted != kind and wanted.itemsize == 2)
        return wanted, [value.astype(wanted).astype(np.float64) if narrows else value]

    def _computed(self, step: Step, inputs: list, kind: np.dtype, rng: Any) -> list[Array]:
        kernel = step.kernel
        if not self._wide:
            return kernel(inputs)
        if rng is None or step.op in EXACT or not any(map(_is_wide, inputs)):
            return [overflown(value, kind) for value in kernel(inputs)]
        if step.op in SUMS:
            return self._summed(kernel, inputs, kind, rng)
        if step.op in PLAIN:
            return [rounded(value, kind, rng, 1) for value in kernel(inputs)]
        moved = [
            value * (1 + 2 * unit(kind) * rng.uniform(-1, 1, value.shape))
            if _is_wide(value) and not (place and step.op == "Resize")
            else value
            for place, value in enumerate(inputs)
        ]
        return [rounded(value, kind, rng, INNER) for value in kernel(moved)]

    def _summed(self, kernel: Kernel, inputs: list, kind: np.dtype, rng: Any) -> list[Array]:
        results = kernel(inputs)
        sizes = kernel([np.abs(value) if _is_wide(value) else value for value in inputs])
        moved = []
        for value, size in zip(results, sizes, strict=True):
            exact = held_exactly(value, kind) & held_exactly(size, kind)
            most = unit(kind) * np.where(np.isfinite(size), np.abs(size), 0) + smallest(kind)
            noise = np.where(exact, 0, 2 * most * rng.uniform(-1, 1, value.shape))
            moved.append(overflown(value + noise, kind))
        return moved

    def _if(self, step: Step, inputs: list, scope: Scope, rng: Any) -> tuple[list, list]:
        branch = step.bodies["then_branch" if bool(np.all(inputs[0])) else "else_branch"]
        inner = scope.inner()
        self._graph(branch, inner, rng)
        return ([inner.values[n] for n in branch.outputs], [inner.kinds[n] for n in branch.outputs])

    def _loop(
        self, step: Step, inputs: list, input_kinds: list, scope: Scope, rng: Any
    ) -> tuple[list, list]:
        body, count = step.bodies["body"], len(inputs) - 2
        rounds = 1_000 if inputs[0] is None else int(inputs[0].reshape(()))
        on = True if inputs[1] is None else bool(np.all(inputs[1]))
        carried, kinds = list(inputs[2:]), list(input_kinds[2:])
        scans: list[list[Array]] = [[] for _ in body.outputs[1 + count :]]
        scan_kinds = [FLOAT32] * len(scans)
        for turn in range(rounds):
            if not on:
                break
            inner = scope.inner()
            given = [np.asarray(turn, np.int64), np.asarray(on), *carried]
            for name, value, kind in zip(
                body.inputs, given, [given[0].dtype, given[1].dtype, *kinds], strict=True
            ):
                inner.keep(name, value, kind, wide=self._wide)
            self._graph(body, inner, rng)
            on = bool(np.all(inner.values[body.outputs[0]]))
            carried = [inner.values[name] for name in body.outputs[1 : 1 + count]]
            for kept, name in zip(scans, body.outputs[1 + count :], strict=True):
                kept.append(inner.values[name])
            scan_kinds = [inner.kinds[name] for name in body.outputs[1 + count :]]
        return [*carried, *(np.stack(kept) for kept in scans)], [*kinds, *scan_kinds]


def _plan(graph: onnx.GraphProto, opset: int) -> Plan:
    steps = []
    for node in graph.node:
        stated = attributes(node)
        bodies = {k: _plan(v, opset) for k, v in stated.items() if isinstance(v, onnx.GraphProto)}
        kernel = None if bodies or node.op_type == "Cast" else Kernel(node, opset)
        steps.append(
            Step(node.op_type, tuple(node.input), tuple(node.output), stated, kernel, bodies)
        )
    return Plan(
        tuple((tensor.name, numpy_helper.to_array(tensor)) for tensor in graph.initializer),
        tuple(steps),
        tuple(item.name for item in graph.input),
        tuple(item.name for item in graph.output),
    )


def node_values(node: onnx.NodeProto, values: Mapping[str, Array], opset: int) -> dict[str, Array]:
    """The outputs of one node in the declared types, given every tensor that it can see."""
    graph = helper.make_graph([node], "one", [], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    seen = Evaluation(model, wide=False).all_tensors(values)
    return {name: seen[name] for name in node.output if name}


def is_float(dtype: np.dtype) -> bool:
    return dtype in FLOATS.values()


def unit(kind: np.dtype) -> float:
    """Half of the distance from 1 to the next number."""
    return float(ml_dtypes.finfo(kind).eps) / 2


def smallest(kind: np.dtype) -> float:
    return float(ml_dtypes.finfo(kind).smallest_subnormal)


def overflown(value: Array, kind: np.dtype) -> Array:
    """Infinite where the declared type has no such number."""
    if value.dtype != np.float64 or kind == np.float64:
        return value
    largest = float(ml_dtypes.finfo(kind).max) * (1 + unit(kind))
    return np.where(np.abs(value) > largest, np.copysign(np.inf, value), value)


def held_exactly(value: Array, kind: np.dtype) -> Array:
    """Where the declared type has exactly this number."""
    if value.dtype != np.float64:
        return np.ones(value.shape, bool)
    return value.astype(kind).astype(np.float64) == value


def rounded(value: Array, kind: np.dtype, rng: np.random.Generator, roundings: float) -> Array:
    """Moved by up to so many roundings where the declared type cannot hold it."""
    if value.dtype != np.float64:
        return value
    size = roundings * unit(kind) * np.where(np.isfinite(value), np.abs(value), 0)
    noise = (size + smallest(kind)) * rng.uniform(-1, 1, value.shape)
    free = held_exactly(value, kind) | ~np.isfinite(value)
    return overflown(np.where(free, value, value + noise), kind)


def _is_wide(value: Array | None) -> bool:
    return value is not None and value.dtype == np.float64
