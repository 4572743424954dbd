"""Sub-graphs run by operators, and resource variables; every run begins from the initial state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.errors import RuntimeFailedError
from isomorph.oracle.control_flow import as_data, chosen, truth, while_loop
from isomorph.oracle.value import EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.oracle_step import TfliteStep
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.step import Read, Rule, Scope


def _run_part(
    executor: Executor, step: TfliteStep, body: str, given: Sequence[EvalValue], scope: Scope
) -> list[EvalValue]:
    part = step.parts[step.bodies[body]]
    # What is not given is read as stored.
    return executor.body(part, dict(zip(part.inputs, given, strict=False)), scope)


def _if(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    taken = truth(inputs[0])
    inner = scope.inside(step.index, int(taken))
    body = "then" if taken else "else"
    return chosen(_run_part(executor, step, body, inputs[1:], inner), inputs[0])


def _while(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    def test(carried: Sequence[EvalValue], count: int) -> list[EvalValue]:
        return _run_part(executor, step, "cond", carried, scope.inside(step.index, count, 0))

    def body(carried: Sequence[EvalValue], count: int) -> list[EvalValue]:
        return _run_part(executor, step, "body", carried, scope.inside(step.index, count, 1))

    return while_loop(inputs, test, body)


def _call(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    body = "decomposition" if step.op == "STABLEHLO_COMPOSITE" else "body"
    return _run_part(executor, step, body, inputs, scope.inside(step.index))


def _call_once(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    _run_part(executor, step, "init", (), scope.inside(step.index))
    return []


def _handle(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    container, name = (step.attributes.get(key, "") for key in ("container", "shared_name"))
    return [EvalValue(f"{container}/{name}", dtype="resource", constant=True)]


def _read(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    name = str(inputs[0].data)
    if name not in executor.states:
        raise RuntimeFailedError(
            "NODE_FAILED",
            "a variable is read before it has a value",
            where=step.name,
            why=f"nothing has been assigned to {name!r}",
            fix="convert the model with the operator that initializes its variables",
        )
    return [executor.states[name]]


def _assign(
    executor: Executor, step: TfliteStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    # What a variable holds is data: the next run of a deployed model finds another value there.
    executor.states[str(inputs[0].data)] = as_data(inputs[1])
    return []


RULES: dict[str, Rule] = {
    "IF": _if,
    "WHILE": _while,
    "CALL": _call,
    "STABLEHLO_COMPOSITE": _call,
    "CALL_ONCE": _call_once,
    "VAR_HANDLE": _handle,
    "READ_VARIABLE": _read,
    "ASSIGN_VARIABLE": _assign,
}
"""How each operator is evaluated that runs sub-graphs or touches a variable."""
