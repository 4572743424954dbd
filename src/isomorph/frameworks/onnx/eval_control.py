"""If, Loop, Scan and SequenceMap: bodies run by the same evaluation, reading the tensors around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.frameworks.onnx.declared_types import of_proto
from isomorph.oracle.control_flow import chosen, mapped, truth
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.value import ABSENT, EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.oracle_step import OnnxStep, Program
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.step import Read, Rule, Scope


def _if(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    taken = truth(inputs[0])
    body = step.bodies["then_branch" if taken else "else_branch"]
    outputs = executor.body(body, {}, scope.inside(step.index, int(taken)), read)
    return chosen(outputs, inputs[0])


def _loop(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    body = step.bodies["body"]
    trips, going = inputs[0], inputs[1] if len(inputs) > 1 else ABSENT
    most = None if trips.data is None else int(np.asarray(trips.data).reshape(-1)[0])
    if going.data is None:
        going = EvalValue(np.array(True), constant=True)
    carried = list(inputs[2:])
    decisions = [trips, going]
    rows: list[list[EvalValue]] = [[] for _ in body.outputs[1 + len(carried) :]]
    count = 0
    while truth(going) and (most is None or count < most):
        given = [EvalValue(np.array(count, np.int64), constant=True), going, *carried]
        named = dict(zip(body.inputs, given, strict=True))
        outputs = executor.body(body, named, scope.inside(step.index, count), read)
        going, carried = outputs[0], outputs[1 : 1 + len(carried)]
        decisions += [] if going.constant else [going]
        for row, value in zip(rows, outputs[1 + len(carried) :], strict=True):
            row.append(value)
        count += 1
    names = body.outputs[1 + len(carried) :]
    stacked = [_stacked(row, 0, body, name) for row, name in zip(rows, names, strict=True)]
    return chosen([*carried, *stacked], *decisions)


def _scan(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    if step.version < 9:
        return _scan_of_batch(executor, step, inputs, read, scope)
    return _scan_once(executor, step, inputs, read, scope.inside(step.index))


def _scan_once(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    body, attributes = step.bodies["body"], step.attributes
    count = int(attributes["num_scan_inputs"])
    states, scanned = list(inputs[: len(inputs) - count]), inputs[len(inputs) - count :]
    given = len(body.outputs) - len(states)
    into = _padded(attributes.get("scan_input_directions"), count)
    axes = _padded(attributes.get("scan_input_axes"), count)
    out_of = _padded(attributes.get("scan_output_directions"), given)
    out_axes = _padded(attributes.get("scan_output_axes"), given)
    length = np.shape(scanned[0].data)[axes[0]]
    rows: list[list[EvalValue]] = [[] for _ in range(given)]
    for turn in range(length):
        slices = [
            _row(value, length - 1 - turn if backward else turn, axis)
            for value, backward, axis in zip(scanned, into, axes, strict=True)
        ]
        named = dict(zip(body.inputs, [*states, *slices], strict=True))
        outputs = executor.body(body, named, scope.inside(turn), read)
        states = outputs[: len(states)]
        for row, value in zip(rows, outputs[len(states) :], strict=True):
            row.append(value)
    names = body.outputs[len(states) :]
    return states + [
        _stacked(row[::-1] if backward else row, axis, body, name)
        for row, backward, axis, name in zip(rows, out_of, out_axes, names, strict=True)
    ]


def _scan_of_batch(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    """Opset 8: a leading batch axis everywhere, with a length for each of its elements."""
    lengths, batched = inputs[0], inputs[1:]
    body = step.bodies["body"]
    count = int(step.attributes["num_scan_inputs"])
    first = len(batched) - count
    into = _padded(step.attributes.get("directions"), count)
    results: list[list[EvalValue]] = []
    for element in range(np.shape(batched[0].data)[0]):
        parts = [_row(value, element, 0) for value in batched]
        if lengths.data is not None:
            most = int(np.asarray(lengths.data)[element])
            parts[first:] = [_head(value, most) for value in parts[first:]]
        parts[first:] = [
            _flipped(value) if backward else value
            for value, backward in zip(parts[first:], into, strict=True)
        ]
        inner = scope.inside(step.index, element)
        results.append(_scan_once(executor, step, parts, read, inner))
    longest = max((np.shape(value.data)[1] for value in batched[first:]), default=0)
    columns = list(zip(*results, strict=True))
    return [
        _stacked(
            [_filled(value, longest) if index >= first else value for value in column],
            0,
            body,
            body.outputs[index],
        )
        for index, column in enumerate(columns)
    ]


def _sequence_map(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    body = step.bodies["body"]
    outputs: list[list[EvalValue]] = [[] for _ in body.outputs]
    for turn in range(len(inputs[0].data)):
        given = {
            name: _element(value, turn) if isinstance(value.data, list) else value
            for name, value in zip(body.inputs, inputs, strict=True)
        }
        results = executor.body(body, given, scope.inside(step.index, turn), read)
        for column, value in zip(outputs, results, strict=True):
            column.append(value)
    return [_gathered(column) for column in outputs]


RULES: dict[str, Rule] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
"""How each control-flow operator is evaluated."""


def _row(value: EvalValue, index: int, axis: int) -> EvalValue:
    return mapped(value, lambda data: np.take(data, index, axis=axis))


def _head(value: EvalValue, count: int) -> EvalValue:
    return mapped(value, lambda data: data[:count])


def _flipped(value: EvalValue) -> EvalValue:
    return mapped(value, lambda data: data[::-1])


def _filled(value: EvalValue, length: int) -> EvalValue:
    def fill(data: Any) -> Any:  # noqa: ANN401
        missing = [(0, length - len(data))] + [(0, 0)] * (data.ndim - 1)
        return np.pad(data, missing)

    return mapped(value, fill)


def _element(value: EvalValue, index: int) -> EvalValue:
    return EvalValue(value.data[index], constant=value.constant, dtype=value.dtype)


def _gathered(rows: Sequence[EvalValue]) -> EvalValue:
    if all(value.constant for value in rows):
        return EvalValue([value.data for value in rows], constant=True)
    dtype = rows[0].dtype if rows else None
    return EvalValue([value.wide() for value in rows], dtype=dtype)


def _stacked(rows: Sequence[EvalValue], axis: int, body: Program, name: str) -> EvalValue:
    if not rows:
        return _empty(body.declared.get(name))
    if all(value.constant and not value.shifted for value in rows):
        return EvalValue(np.stack([value.data for value in rows], axis), constant=True)
    return EvalValue(np.stack([value.wide() for value in rows], axis), dtype=rows[0].dtype)


def _empty(proto: onnx.TypeProto | None) -> EvalValue:
    """A stack of no rows: its type and shape are known by the declaration alone."""
    dtype = (of_proto(proto) if proto is not None else None) or "float32"
    dims = proto.tensor_type.shape.dim if proto is not None else ()
    shape = (0, *(dim.dim_value for dim in dims))
    kind = np.dtype(np.float64) if is_float(dtype) else numpy_dtype(dtype)
    return EvalValue(np.zeros(shape, kind), dtype=dtype)


def _padded(values: Sequence[int] | None, count: int) -> list[int]:
    given = list(values or ())
    return given + [0] * (count - len(given))
