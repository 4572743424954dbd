"""Branches and loops of exported programs, run by whichever interpreter runs the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.pytorch.program import Body, Program, Step, operator_name

RunBody = Callable[[Program, Sequence[Any]], list[Any]]
"""Runs a body on the values of its inputs, in order."""

_KNOWN = frozenset(
    {"higher_order.cond", "higher_order.while_loop", "higher_order.wrap_with_set_grad_enabled",
     "higher_order.wrap_with_autocast", "script.if", "script.loop"}
)  # fmt: skip


def is_control(step: Step) -> bool:
    """Whether the step has bodies to run."""
    return bool(step.bodies)


def refuse_unsupported(program: Program) -> None:
    """Say at once, by its name, which operator cannot be run."""
    for step in _every_step(program):
        name = operator_name(step.target)
        if not callable(step.target) and not step.bodies:
            why = "no package that isomorph imports registers it"
            fix = "import the module that registers it: --ops MODULE --trust"
        elif step.bodies and name not in _KNOWN:
            why, fix = "its body cannot be entered", "export without this operator"
        else:
            continue
        raise UnreadableModelError(
            "UNSUPPORTED_OP", f"operator {name} is not supported",
            where=f"node {program.name}{step.name}", why=why, fix=fix,
        )  # fmt: skip


def _every_step(program: Program) -> Sequence[Step]:
    inner = [each for step in program.steps for body in step.bodies.values()
             for each in _every_step(body)]  # fmt: skip
    return [*program.steps, *inner]


def run_control(step: Step, arguments: Sequence[Any], run_body: RunBody) -> list[Any]:
    """The values a control-flow step gives, in order; ``arguments`` hold its ``Body`` marks."""
    name = operator_name(step.target)
    if name == "higher_order.cond":
        decision, yes, no, operands = arguments[:4]
        return run_body(_body(step, yes if bool(decision) else no), operands)
    if name == "higher_order.while_loop":
        test, loop, carried, extra = arguments[:4]
        values = list(carried)
        while bool(run_body(_body(step, test), [*values, *extra])[0]):
            values = run_body(_body(step, loop), [*values, *extra])
        return values
    if name == "script.if":
        decision, yes, no, for_yes, for_no = arguments
        chosen, free = (yes, for_yes) if bool(decision) else (no, for_no)
        return run_body(_body(step, chosen), free)
    if name == "script.loop":
        return _script_loop(step, arguments, run_body)
    # The wrappers take their own switches first, then the body, then what it is given. What they
    # switch (gradients, autocast) is already spelled out in the body's own types.
    place = next(index for index, value in enumerate(arguments) if isinstance(value, Body))
    return run_body(_body(step, arguments[place]), arguments[place + 1 :])


def _script_loop(step: Step, arguments: Sequence[Any], run_body: RunBody) -> list[Any]:
    trips, going, mark, carried, free = arguments
    values = list(carried)
    for trip in range(int(trips)):
        if not bool(going):
            break
        going, *values = run_body(_body(step, mark), [trip, *values, *free])
    return values


def _body(step: Step, mark: Body) -> Program:
    return step.bodies[mark.name]
