"""Runs a program from any values to any values: only the steps in between, nothing kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from isomorph.core.errors import IsomorphError, RuntimeFailedError, message_lines
from isomorph.core.last_node import leave
from isomorph.frameworks.pytorch.in_place_ops import written_places
from isomorph.frameworks.pytorch.program import Program, Step, operator_name, replace_refs
from isomorph.oracle.plan import Plan as OraclePlan
from isomorph.oracle.plan import Planner

Values = dict[str, Any]


Plan = OraclePlan[str, Step]


def planner_of(program: Program) -> Planner[str, Step]:
    """Plans cuts of one program; constants and inputs frozen at export need not be fed."""
    stored = {*program.constants, *program.fixed}
    return Planner(program.steps, program.inputs, stored)


Evaluate = Callable[[int, Step, Values], Any]
"""Computes one step from the values so far: its index, the step, the values."""


def execute(
    plan: Plan,
    values: Values,
    fetch: Sequence[str],
    evaluate: Evaluate,
    keep: Callable[[str, Any], Any] = lambda _, value: value,
) -> dict[str, Any]:
    """Run the plan, consuming ``values``; ``keep`` decides how a fetched value is kept."""
    run = Execution(values, fetch, evaluate, keep)
    execute_together(plan, [run])
    return run.fetched


class Execution:
    """One run of a plan, step by step."""

    def __init__(
        self,
        values: Values,
        fetch: Sequence[str],
        evaluate: Evaluate,
        keep: Callable[[str, Any], Any] = lambda _, value: value,
    ) -> None:
        self.values, self._fetch = values, fetch
        self._evaluate, self._keep = evaluate, keep
        self.fetched = {name: keep(name, values[name]) for name in fetch if name in values}
        self._sizes: dict[str, int] = {}
        self._bytes = self.peak_bytes = 0

    def compute(self, index: int, step: Step, finished: Sequence[str]) -> None:
        """Compute one step, and release the values that nothing reads after it."""
        values = self.values
        # What is fed stays: another output of a step that runs anyway may have been cut.
        given = bind(step, self._evaluate(index, step, values))
        for name, value in given.items():
            fed = name in values
            if not fed:
                values[name] = value
                self._sizes[name] = _bytes_of(value)
                self._bytes += self._sizes[name]
            if name in self._fetch and not fed:
                self.fetched[name] = self._keep(name, value)
        self.peak_bytes = max(self.peak_bytes, self._bytes)
        for name in finished:
            values.pop(name, None)
            self._bytes -= self._sizes.pop(name, 0)


def execute_together(
    plan: Plan,
    runs: Sequence[Execution],
    prepare: Callable[[int, Step], None] | None = None,
) -> None:
    """Run the plan several times, step by step side by side, each step after ``prepare``."""
    for (index, step), finished in zip(plan.steps, plan.releases, strict=True):
        leave(step.name)
        if prepare is not None:
            prepare(index, step)
        for run in runs:
            run.compute(index, step, finished)


def _bytes_of(value: Any) -> int:  # noqa: ANN401
    return int(value.nbytes) if isinstance(value, torch.Tensor) else 0


def bind(step: Step, result: Any) -> dict[str, Any]:  # noqa: ANN401
    """The names of a step's outputs with their values."""
    if not step.listed:
        return {step.outputs[0]: result}
    # Outputs that nothing reads have no name.
    given = dict(zip(step.outputs, result, strict=False))
    if step.whole:
        given[step.name] = result
    return given


def call(step: Step, lookup: Callable[[str], Any]) -> Any:  # noqa: ANN401
    """The operator itself on the values, never writing into them."""
    arguments = list(replace_refs(step.args, lookup))
    named = dict(replace_refs(step.kwargs, lookup))
    return call_target(step, arguments, named)


def call_target(step: Step, arguments: list[Any], named: dict[str, Any]) -> Any:  # noqa: ANN401
    """Like ``call``, with the arguments already in place."""
    for where in written_places(step.target):
        container: Any = named if isinstance(where, str) else arguments
        if (where in container) if isinstance(where, str) else where < len(container):
            container[where] = _copy(container[where])
    # A view asks for the strides that torch's own kernels leave; other ways to the same values
    # (a disturbed one, one fed from outside) leave others.
    target = (
        torch.ops.aten.reshape.default
        if step.target is torch.ops.aten.view.default
        else step.target
    )
    try:
        return target(*arguments, **named)  # type: ignore[operator]
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
        raise failed(step, error) from error


def _copy(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value.clone() if hasattr(value, "clone") else value


def failed(step: Step, error: Exception) -> IsomorphError:
    """The message of torch itself, with the operator and the node it belongs to."""
    message = message_lines(error)
    return RuntimeFailedError(
        "RUNTIME_FAILED",
        f"torch could not compute {operator_name(step.target)}",
        where=f"node {step.name}",
        why=message[0] if message else type(error).__name__,
    )


def enter_body(
    body: Program, given: Sequence[Any], planners: dict[str, Planner[str, Step]]
) -> tuple[Plan, Values]:
    """The plan of a body that is given these inputs, and the values it starts with.

    The planner of a body is made once and kept in ``planners``.
    """
    if body.name not in planners:
        planners[body.name] = planner_of(body)
    values = dict(zip(body.inputs, given, strict=True))
    wanted = tuple(name for name in body.outputs if name)
    plan = planners[body.name].plan(frozenset(values), wanted)
    return plan, starting_values(body, values, plan, body.constants)


def starting_values(
    program: Program, feeds: Mapping[str, Any], plan: Plan, constants: Mapping[str, Any]
) -> Values:
    """Feeds first, then whatever constants the plan reads."""
    values: Values = {name: constants[name] for name in plan.reads if name in constants}
    values.update({name: program.fixed[name] for name in plan.reads if name in program.fixed})
    values.update(feeds)
    return values
