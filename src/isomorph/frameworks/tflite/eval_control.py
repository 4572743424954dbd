"""Sub-graphs run by operators, and resource variables; every run begins from the initial state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.oracle.value import EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.eval_run import Run, Site
    from isomorph.frameworks.tflite.eval_steps import Step


def run(evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site) -> list[EvalValue]:
    """The outputs of one operator that runs sub-graphs or touches a variable."""
    return _RULES[step.op](evaluation, step, inputs, site)


def _if(evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site) -> list[EvalValue]:
    taken = _truth(inputs[0])
    body = step.bodies["then" if taken else "else"]
    outputs = evaluation.part(body, inputs[1:], (*site, int(taken)))
    return outputs if inputs[0].constant else [_as_data(held) for held in outputs]


def _while(evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site) -> list[EvalValue]:
    carried, steady, count = list(inputs), True, 0
    while True:
        going = evaluation.part(step.bodies["cond"], carried, (*site, count, 0))[0]
        steady = steady and going.constant
        if not _truth(going):
            return carried if steady else [_as_data(held) for held in carried]
        carried = evaluation.part(step.bodies["body"], carried, (*site, count, 1))
        count += 1


def _call(evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site) -> list[EvalValue]:
    body = step.bodies["decomposition" if step.op == "STABLEHLO_COMPOSITE" else "body"]
    return evaluation.part(body, inputs, site)


def _call_once(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site
) -> list[EvalValue]:
    evaluation.part(step.bodies["init"], (), site)
    return []


def _handle(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site
) -> list[EvalValue]:
    container, name = (step.attributes.get(key, "") for key in ("container", "shared_name"))
    return [EvalValue(f"{container}/{name}", dtype="resource", constant=True)]


def _read(evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site) -> list[EvalValue]:
    name = str(inputs[0].data)
    if name not in evaluation.variables:
        raise RuntimeFailedError(
            "NODE_FAILED",
            "a variable is read before it has a value",
            where=step.name,
            why=f"nothing has been assigned to {name!r}",
            fix="convert the model with the operator that initializes its variables",
        )
    return [evaluation.variables[name]]


def _assign(
    evaluation: Run, step: Step, inputs: Sequence[EvalValue], site: Site
) -> list[EvalValue]:
    # What a variable holds is data: the next run of a deployed model finds another value there.
    evaluation.variables[str(inputs[0].data)] = _as_data(inputs[1])
    return []


_Rule = Callable[["Run", "Step", Sequence[EvalValue], "Site"], list[EvalValue]]

_RULES: dict[str, _Rule] = {
    "IF": _if,
    "WHILE": _while,
    "CALL": _call,
    "STABLEHLO_COMPOSITE": _call,
    "CALL_ONCE": _call_once,
    "VAR_HANDLE": _handle,
    "READ_VARIABLE": _read,
    "ASSIGN_VARIABLE": _assign,
}


def _truth(held: EvalValue) -> bool:
    return bool(np.asarray(held.data).reshape(-1)[0])


def _as_data(held: EvalValue) -> EvalValue:
    """A constant that a decision or a variable hands on is data."""
    return EvalValue(held.wide(), dtype=held.dtype) if held.constant else held
