"""Branches and loops: their bodies are run by the same executor as everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.oracle.control_flow import chosen, while_loop
from isomorph.oracle.value import DEAD, EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.tensorflow.eval_steps import TfStep
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.step import Read, Rule, Scope

BODIES = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
SWITCHES = frozenset({"Switch", "RefSwitch", "Merge", "RefMerge"})
NOTHING = frozenset({"NoOp", "Assert", "Print", "PrintV2"})
"""Operators that compute nothing: they print, or raise."""


def _run_bodies(
    executor: Executor, step: TfStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    """The outputs of a loop or branch."""
    if DEAD in inputs:
        return [DEAD] * len(step.outputs)

    def run(key: str, given: Sequence[EvalValue], *trip: int) -> list[EvalValue]:
        body = step.body(key)
        named = dict(zip(body.inputs, given, strict=True))
        return executor.body(body, named, scope.inside(*trip, prefix=_prefix(step, key)))

    if step.op.endswith("While"):
        return while_loop(
            inputs,
            lambda values, trip: run("cond", values, trip),
            lambda values, trip: run("body", values, trip),
            _truth,
        )
    return chosen(run(_branch(step, inputs[0]), inputs[1:]), inputs[0])


def _branch(step: TfStep, decision: EvalValue) -> str:
    if step.op.endswith("If"):
        return "then_branch" if _truth(decision) else "else_branch"
    count = sum(1 for name in step.node.functions if name.startswith("branches["))
    place = int(np.asarray(decision.data))
    return f"branches[{place if 0 <= place < count else count - 1}]"


def _prefix(step: TfStep, key: str) -> str:
    """What the description puts before every name inside this body."""
    return f"{step.name}/{key}#{list(step.node.functions).index(key)}/"


def _truth(value: EvalValue) -> bool:
    data: Any = np.asarray(value.data)
    # TensorFlow takes a number for what it is in Python, and any other tensor for its size.
    if data.ndim:
        return bool(data.size)
    return bool(data.item())


def _switch(
    executor: Executor, step: TfStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    """One of the two outputs has the value, by the decision."""
    if DEAD in inputs:
        return [DEAD, DEAD]
    value = chosen([inputs[0]], inputs[1])[0]
    return [DEAD, value] if _truth(inputs[1]) else [value, DEAD]


def _merge(
    executor: Executor, step: TfStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    """Whichever input there is, and its place."""
    for place, value in enumerate(inputs):
        if value is not DEAD:
            return [value, EvalValue(np.array(place, np.int32), constant=True)]
    return [DEAD, DEAD]


def _nothing(
    executor: Executor, step: TfStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    return []


RULES: dict[str, Rule] = {
    **dict.fromkeys(BODIES, _run_bodies),
    **dict.fromkeys(("Switch", "RefSwitch"), _switch),
    **dict.fromkeys(("Merge", "RefMerge"), _merge),
    **dict.fromkeys(NOTHING, _nothing),
}
"""How each operator is evaluated that is not computed."""
