"""If, Loop, Scan and SequenceMap: bodies run by the same evaluation, reading the tensors around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.frameworks.onnx.declared_types import of_proto
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.value import ABSENT, EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.eval_program import Program, Step
    from isomorph.frameworks.onnx.eval_run import Read, Run, Site


def run(evaluation: Run, step: Step, read: Read, site: Site) -> list[EvalValue]:
    """The outputs of one control-flow node."""
    inputs = [read(name) if name else ABSENT for name in step.inputs]
    return _RULES[step.op](evaluation, step, inputs, read, site)


def _if(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], read: Read, site: Site
) -> list[EvalValue]:
    taken = _truth(inputs[0])
    body = step.bodies["then_branch" if taken else "else_branch"]
    outputs = evaluation.program(body, {}, read, (*site, int(taken)))
    return outputs if inputs[0].constant else [_as_data(held) for held in outputs]


def _loop(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], read: Read, site: Site
) -> list[EvalValue]:
    body = step.bodies["body"]
    trips, going = inputs[0], inputs[1] if len(inputs) > 1 else ABSENT
    most = None if trips.data is None else int(np.asarray(trips.data).reshape(-1)[0])
    if going.data is None:
        going = EvalValue(np.array(True), constant=True)
    carried = list(inputs[2:])
    steady = trips.constant and going.constant
    rows: list[list[EvalValue]] = [[] for _ in body.outputs[1 + len(carried) :]]
    count = 0
    while _truth(going) and (most is None or count < most):
        given = [EvalValue(np.array(count, np.int64), constant=True), going, *carried]
        named = dict(zip(body.inputs, given, strict=True))
        outputs = evaluation.program(body, named, read, (*site, count))
        going, carried = outputs[0], outputs[1 : 1 + len(carried)]
        steady = steady and going.constant
        for row, held in zip(rows, outputs[1 + len(carried) :], strict=True):
            row.append(held)
        count += 1
    names = body.outputs[1 + len(carried) :]
    stacked = [_stacked(row, 0, body, name) for row, name in zip(rows, names, strict=True)]
    results = [*carried, *stacked]
    return results if steady else [_as_data(held) for held in results]


def _scan(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], read: Read, site: Site
) -> list[EvalValue]:
    if step.version < 9:
        return _scan_of_batch(evaluation, step, inputs, read, site)
    return _scan_once(evaluation, step, inputs, read, site)


def _scan_once(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], read: Read, site: Site
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
            _row(held, length - 1 - turn if backward else turn, axis)
            for held, backward, axis in zip(scanned, into, axes, strict=True)
        ]
        named = dict(zip(body.inputs, [*states, *slices], strict=True))
        outputs = evaluation.program(body, named, read, (*site, turn))
        states = outputs[: len(states)]
        for row, held in zip(rows, outputs[len(states) :], strict=True):
            row.append(held)
    names = body.outputs[len(states) :]
    return states + [
        _stacked(row[::-1] if backward else row, axis, body, name)
        for row, backward, axis, name in zip(rows, out_of, out_axes, names, strict=True)
    ]


def _scan_of_batch(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], read: Read, site: Site
) -> list[EvalValue]:
    """Opset 8: a leading batch axis everywhere, with a length for each of its elements."""
    lengths, batched = inputs[0], inputs[1:]
    body = step.bodies["body"]
    count = int(step.attributes["num_scan_inputs"])
    first = len(batched) - count
    into = _padded(step.attributes.get("directions"), count)
    results: list[list[EvalValue]] = []
    for element in range(np.shape(batched[0].data)[0]):
        parts = [_row(held, element, 0) for held in batched]
        if lengths.data is not None:
            most = int(np.asarray(lengths.data)[element])
            parts[first:] = [_head(held, most) for held in parts[first:]]
        parts[first:] = [
            _flipped(held) if backward else held
            for held, backward in zip(parts[first:], into, strict=True)
        ]
        results.append(_scan_once(evaluation, step, parts, read, (*site, element)))
    longest = max((np.shape(held.data)[1] for held in batched[first:]), default=0)
    columns = list(zip(*results, strict=True))
    return [
        _stacked(
            [_filled(held, longest) if index >= first else held for held in column],
            0,
            body,
            body.outputs[index],
        )
        for index, column in enumerate(columns)
    ]


def _sequence_map(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], read: Read, site: Site
) -> list[EvalValue]:
    body = step.bodies["body"]
    outputs: list[list[EvalValue]] = [[] for _ in body.outputs]
    for turn in range(len(inputs[0].data)):
        given = {
            name: _element(held, turn) if isinstance(held.data, list) else held
            for name, held in zip(body.inputs, inputs, strict=True)
        }
        for column, held in zip(
            outputs, evaluation.program(body, given, read, (*site, turn)), strict=True
        ):
            column.append(held)
    return [_gathered(column) for column in outputs]


_Rule = Callable[["Run", "Step", Sequence[EvalValue], "Read", "Site"], list[EvalValue]]

_RULES: dict[str, _Rule] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}


def _truth(held: EvalValue) -> bool:
    return bool(np.asarray(held.data).reshape(-1)[0])


def _as_data(held: EvalValue) -> EvalValue:
    """A constant that a data-dependent decision has chosen is data."""
    return EvalValue(held.wide(), dtype=held.dtype) if held.constant else held


def _each_like(held: EvalValue, function: Callable[[Any], Any]) -> EvalValue:
    shift = None if held.shift is None else function(held.shift)
    return EvalValue(function(held.data), dtype=held.dtype, constant=held.constant, shift=shift)


def _row(held: EvalValue, index: int, axis: int) -> EvalValue:
    return _each_like(held, lambda data: np.take(data, index, axis=axis))


def _head(held: EvalValue, count: int) -> EvalValue:
    return _each_like(held, lambda data: data[:count])


def _flipped(held: EvalValue) -> EvalValue:
    return _each_like(held, lambda data: data[::-1])


def _filled(held: EvalValue, length: int) -> EvalValue:
    def fill(data: Any) -> Any:  # noqa: ANN401
        missing = [(0, length - len(data))] + [(0, 0)] * (data.ndim - 1)
        return np.pad(data, missing)

    return _each_like(held, fill)


def _element(held: EvalValue, index: int) -> EvalValue:
    return EvalValue(held.data[index], constant=held.constant, dtype=held.dtype)


def _gathered(rows: Sequence[EvalValue]) -> EvalValue:
    if all(held.constant for held in rows):
        return EvalValue([held.data for held in rows], constant=True)
    dtype = rows[0].dtype if rows else None
    return EvalValue([held.wide() for held in rows], dtype=dtype)


def _stacked(rows: Sequence[EvalValue], axis: int, body: Program, name: str) -> EvalValue:
    if not rows:
        return _empty(body.declared.get(name))
    if all(held.constant and held.shift is None for held in rows):
        return EvalValue(np.stack([held.data for held in rows], axis), constant=True)
    return EvalValue(np.stack([held.wide() for held in rows], axis), dtype=rows[0].dtype)


def _empty(proto: onnx.TypeProto | None) -> EvalValue:
    """No row was made, so the declaration is all that tells its type and shape."""
    dtype = (of_proto(proto) if proto is not None else None) or "float32"
    dims = proto.tensor_type.shape.dim if proto is not None else ()
    shape = (0, *(dim.dim_value for dim in dims))
    kind = np.dtype(np.float64) if is_float(dtype) else numpy_dtype(dtype)
    return EvalValue(np.zeros(shape, kind), dtype=dtype)


def _padded(values: Sequence[int] | None, count: int) -> list[int]:
    given = list(values or ())
    return given + [0] * (count - len(given))
