"""The order that resource variables impose on the operators of the main sub-graph.

Whoever reads a variable needs everybody who wrote it earlier in the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.frameworks.tflite.op_facts import CONTROL
from isomorph.frameworks.tflite.oracle_step import Part, TfliteStep
from isomorph.frameworks.tflite.program import ABSENT


class VariableOrder:
    """Which operators must have run before another though it reads none of their outputs."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts, self._steps = parts, parts[0].steps
        self._writes = [s for s in self._steps if self._touches(s, "ASSIGN_VARIABLE")]
        self._handles = {
            step.outputs[0]: _variable(step) for step in self._steps if step.op == "VAR_HANDLE"
        }

    def before(self, place: int) -> list[int]:
        """The operators that wrote, earlier in the file, a variable that this one reads."""
        return [writer.index for writer in self._before(self._steps[place])]

    def _before(self, step: TfliteStep) -> list[TfliteStep]:
        if not self._touches(step, "READ_VARIABLE"):
            return []
        earlier = [writer for writer in self._writes if writer.index < step.index]
        if step.op in CONTROL:
            return earlier
        own = self._handles.get(step.inputs[0])
        return [
            writer
            for writer in earlier
            if writer.op in CONTROL or self._handles.get(writer.inputs[0]) == own
        ]

    def _touches(self, step: TfliteStep, op: str) -> bool:
        if step.op == op:
            return True
        return any(
            self._touches(inner, op)
            for body in step.bodies.values()
            if body != ABSENT
            for inner in self._parts[body].steps
        )


def _variable(step: TfliteStep) -> tuple[str, str]:
    stated = step.attributes
    return str(stated.get("container", "")), str(stated.get("shared_name", ""))
