"""Which operators a run needs, and when each tensor may be let go.

Resource variables make an order of their own: whoever reads one needs everybody who wrote it
earlier in the file.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from isomorph.core.errors import UsageError
from isomorph.frameworks.tflite.eval_steps import Part, Step
from isomorph.frameworks.tflite.op_facts import CONTROL
from isomorph.frameworks.tflite.program import ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in order, each with the tensors nobody reads after it."""

    steps: tuple[tuple[Step, tuple[int, ...]], ...]


class Planner:
    """Makes the plans of one program's main sub-graph."""

    def __init__(self, parts: Sequence[Part], index: Mapping[str, int]) -> None:
        self._parts, self._names = parts, index
        self._main = parts[0]
        self._makers = {each: step for step in self._main.steps for each in step.outputs}
        self._stored = {t.index for t in self._main.tensors if t.constant or t.variable}
        self._writes = [s for s in self._main.steps if self._touches(s, "ASSIGN_VARIABLE")]
        self._handles = {
            step.outputs[0]: _variable(step) for step in self._main.steps if step.op == "VAR_HANDLE"
        }

    def find(self, name: str) -> int:
        """The tensor of this name."""
        if name not in self._names:
            near = difflib.get_close_matches(name, self._names, n=1)
            raise UsageError(
                "UNKNOWN_TENSOR",
                f"the graph has no tensor {name!r}",
                fix=f"did you mean {near[0]!r}?" if near else "inspect the model for its tensors",
            )
        return self._names[name]

    def plan(self, feeds: Collection[int], fetch: Collection[int]) -> Plan:
        """The steps from ``feeds`` to ``fetch``; what is fed cuts the graph there."""
        needed: dict[int, Step] = {}
        waiting = [index for index in fetch if index not in feeds]
        while waiting:
            index = waiting.pop()
            step = self._makers.get(index)
            if step is None:
                if index not in self._stored:
                    raise self._missing(index)
                continue
            for each in (step, *self._before(step)):
                if each.index not in needed:
                    needed[each.index] = each
                    waiting.extend(read for read in each.needs if read not in feeds)
        return _paired([needed[place] for place in sorted(needed)])

    def _before(self, step: Step) -> list[Step]:
        """Whoever wrote, earlier in the file, a variable that this step reads."""
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

    def _touches(self, step: Step, op: str) -> bool:
        if step.op == op:
            return True
        return any(
            self._touches(inner, op)
            for body in step.bodies.values()
            if body != ABSENT
            for inner in self._parts[body].steps
        )

    def _missing(self, index: int) -> UsageError:
        names = {each: name for name, each in reversed(list(self._names.items()))}
        wanted = ", ".join(names[each] for each in self._main.inputs)
        return UsageError(
            "MISSING_INPUT",
            f"nothing was fed for {names[index]!r}",
            why=f"the graph's inputs are {wanted or 'none'}",
            fix=f"feed {names[index]!r}, or cut the graph below it",
        )


def _variable(step: Step) -> tuple[str, str]:
    stated = step.attributes
    return str(stated.get("container", "")), str(stated.get("shared_name", ""))


def _paired(steps: Sequence[Step]) -> Plan:
    last: dict[int, int] = {}
    for place, step in enumerate(steps):
        last.update(dict.fromkeys((*step.outputs, *step.needs), place))
    finished: list[list[int]] = [[] for _ in steps]
    for index, place in last.items():
        finished[place].append(index)
    return Plan(steps=tuple(zip(steps, map(tuple, finished), strict=True)))
