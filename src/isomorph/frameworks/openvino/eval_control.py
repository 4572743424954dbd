"""Branches and loops of OpenVINO: what each round takes from outside, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.oracle.control_flow import as_data, chosen, mapped, truth
from isomorph.oracle.value import EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.evaluator import Part
    from isomorph.frameworks.openvino.program import Body, BodyPort
    from isomorph.oracle.declared_graph import DeclaredStep
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.step import Read, Rule, Scope


def _if(
    executor: Executor, step: DeclaredStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    taken = truth(inputs[0])
    part = step.bodies["then_body" if taken else "else_body"]
    given = {port.tensor: inputs[port.place] for port in part.body.takes}
    results = _results(executor, part, given, scope.inside(step.index, int(taken)))
    outputs = {port.place: results[port.tensor] for port in part.body.gives}
    return chosen([outputs[place] for place in range(len(step.outputs))], inputs[0])


def _loop(
    executor: Executor, step: DeclaredStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    part = step.bodies["body"]
    body = part.body
    carried = {port.tensor: inputs[port.place] for port in body.takes if port.axis is None}
    sliced = [port for port in body.takes if port.axis is not None]
    rounds = _rounds(body, inputs, sliced)
    decisions = list(inputs[:2]) if body.condition else []
    kept: dict[BodyPort, list[EvalValue]] = {port: [] for port in body.gives}
    count, going = 0, all(truth(each) for each in decisions[1:])
    while going and (rounds is None or count < rounds):
        given = dict(carried)
        if body.counter:
            given[body.counter] = EvalValue(np.asarray(count, np.int64), constant=True)
        for port in sliced:
            given[port.tensor] = _slice(inputs[port.place], port, count)
        results = _results(executor, part, given, scope.inside(step.index, count))
        carried |= {start: results[end] for end, start in body.back}
        for port, values in kept.items():
            values[:] = [*(values if port.axis is not None else ()), results[port.tensor]]
        count += 1
        if body.condition:
            decisions.append(results[body.condition])
            going = truth(results[body.condition])
    outputs = {port.place: _output(port, values, step, carried, body.back)
               for port, values in kept.items()}  # fmt: skip
    return chosen([outputs[place] for place in range(len(step.outputs))], *decisions)


def _results(
    executor: Executor, part: Part, given: dict[str, EvalValue], scope: Scope
) -> dict[str, EvalValue]:
    return dict(zip(part.outputs, executor.body(part, given, scope), strict=True))


def _rounds(body: Body, inputs: Sequence[EvalValue], sliced: Sequence[BodyPort]) -> int | None:
    """How often the body runs at most; None where a condition alone ends it.

    A Loop states the number and has a condition, a TensorIterator has as many as there are parts.
    """
    if body.condition:
        most = int(np.asarray(inputs[0].data).reshape(-1)[0])
        return None if most < 0 else most
    port = sliced[0]
    size = np.shape(inputs[port.place].data)[port.axis or 0]
    first, last = (end + size + 1 if end < 0 else end for end in (port.start, port.end))
    return int(abs(last - first)) // max(abs(port.stride), 1)


def _slice(value: EvalValue, port: BodyPort, count: int) -> EvalValue:
    """The part of an input that a round takes; a negative stride begins at the end."""
    axis = port.axis or 0
    size = np.shape(value.data)[axis]
    start = port.start + size + 1 if port.start < 0 else port.start
    at = start + count * port.stride
    low = at if port.stride > 0 else at - port.part_size
    places = np.arange(low, low + port.part_size)
    return mapped(value, lambda array: np.take(array, places, axis))


def _output(
    port: BodyPort,
    values: Sequence[EvalValue],
    step: DeclaredStep,
    carried: dict[str, EvalValue],
    back: Sequence[tuple[str, str]],
) -> EvalValue:
    if values and port.axis is None:
        return values[-1]
    if values:
        order = values if port.stride > 0 else values[::-1]
        joined = np.concatenate([np.asarray(each.wide()) for each in order], port.axis or 0)
        return EvalValue(joined, dtype=values[0].dtype)
    starts = [start for end, start in back if end == port.tensor]
    if port.axis is None and starts:
        return as_data(carried[starts[0]])
    raise RuntimeFailedError(
        "NODE_FAILED", "a loop without any round has no result", where=step.name,
        why="what it collects has no size then",
    )  # fmt: skip


RULES: dict[str, Rule] = {"If": _if, "Loop": _loop, "TensorIterator": _loop}
"""By the names of the layers."""
