"""Which nodes a run needs, and when each tensor may be let go."""

from __future__ import annotations

import difflib
from collections.abc import Container
from dataclasses import dataclass

from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.eval_program import Program, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in order, each with the tensors nobody reads after it."""

    steps: tuple[tuple[Step, tuple[str, ...]], ...]
    fetched: frozenset[str]


def make_plan(
    program: Program, stored: Container[str], feeds: frozenset[str], fetch: tuple[str, ...]
) -> Plan:
    """The steps from ``feeds`` to ``fetch``; what is fed cuts the graph there."""
    makers = {name: step for step in program.steps for name in step.outputs if name}
    known = {*makers, *program.inputs}
    for name in (*feeds, *fetch):
        if name not in known and name not in stored:
            raise _unknown(name, known)
    needed: dict[int, Step] = {}
    waiting = [name for name in fetch if name not in feeds]
    while waiting:
        name = waiting.pop()
        step = makers.get(name)
        if step is None:
            if name not in stored:
                raise _missing(name, program)
        elif step.index not in needed:
            needed[step.index] = step
            waiting.extend(read for read in step.needs if read not in feeds)
    steps = [needed[index] for index in sorted(needed)]
    last: dict[str, int] = {}
    for place, step in enumerate(steps):
        last.update(dict.fromkeys(step.outputs, place))
        last.update(dict.fromkeys(step.needs, place))
    finished: list[list[str]] = [[] for _ in steps]
    for name, place in last.items():
        finished[place].append(name)
    paired = zip(steps, map(tuple, finished), strict=True)
    return Plan(steps=tuple(paired), fetched=frozenset(fetch) - feeds)


def _unknown(name: str, known: set[str]) -> UsageError:
    near = difflib.get_close_matches(name, known, n=1)
    return UsageError(
        "UNKNOWN_TENSOR",
        f"the graph has no tensor {name!r}",
        fix=f"did you mean {near[0]!r}?" if near else "inspect the model for its tensor names",
    )


def _missing(name: str, program: Program) -> UsageError:
    return UsageError(
        "MISSING_INPUT",
        f"nothing was fed for {name!r}",
        why=f"the graph's inputs are {', '.join(program.inputs) or 'none'}",
        fix=f"feed {name!r}, or cut the graph below it",
    )
