"""Branches and loops: their bodies are run by the same evaluation as everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isomorph.frameworks.tensorflow.program import TfNode, TfProgram
from isomorph.oracle.value import EvalValue

RunBody = Callable[[TfProgram, Sequence[EvalValue], str, tuple[int, ...]], list[EvalValue]]
"""Runs a body on its inputs; the words and numbers say where it stands, and in which round."""

DEAD = EvalValue(None, dtype="dead", constant=True)
"""What comes out of the branch not taken, in graphs that switch instead of calling bodies."""

BODIES = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
SWITCHES = frozenset({"Switch", "RefSwitch", "Merge", "RefMerge"})


def run_bodies(
    node: TfNode, program: TfProgram, inputs: Sequence[EvalValue], run: RunBody
) -> list[EvalValue]:
    """The outputs of a loop or branch."""
    if node.op.endswith("While"):
        return _loop(node, program, inputs, run)
    if node.op.endswith("If"):
        key = "then_branch" if _truth(inputs[0]) else "else_branch"
    else:
        count = sum(1 for name in node.functions if name.startswith("branches["))
        chosen = int(np.asarray(inputs[0].data))
        key = f"branches[{chosen if 0 <= chosen < count else count - 1}]"
    return run(program.functions[node.functions[key]], inputs[1:], _place(node, key), ())


def _loop(
    node: TfNode, program: TfProgram, inputs: Sequence[EvalValue], run: RunBody
) -> list[EvalValue]:
    test, body = (program.functions[node.functions[key]] for key in ("cond", "body"))
    values, trip = list(inputs), 0
    while _truth(run(test, values, _place(node, "cond"), (trip,))[0]):
        values = run(body, values, _place(node, "body"), (trip,))
        trip += 1
    return values


def _place(node: TfNode, key: str) -> str:
    """What the description puts before every name inside this body."""
    return f"{node.name}/{key}#{list(node.functions).index(key)}/"


def _truth(held: EvalValue) -> bool:
    value: Any = np.asarray(held.data)
    # TensorFlow takes a number for what it is in Python, and any other tensor for its size.
    if value.ndim:
        return bool(value.size)
    return bool(value.item())


def run_switch(node: TfNode, inputs: Sequence[EvalValue]) -> list[EvalValue]:
    """Switch gives one of its outputs, Merge takes whichever input there is."""
    if node.op.endswith("Switch"):
        if DEAD in inputs:
            return [DEAD, DEAD]
        return [DEAD, inputs[0]] if _truth(inputs[1]) else [inputs[0], DEAD]
    for place, held in enumerate(inputs):
        if held is not DEAD:
            return [held, EvalValue(np.array(place, np.int32), constant=True)]
    return [DEAD, DEAD]
