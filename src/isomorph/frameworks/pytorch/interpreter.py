"""Runs a program from any values to any values: only the steps in between, nothing kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from isomorph.core.errors import IsomorphError, RuntimeFailedError, UsageError
from isomorph.core.last_node import leave
from isomorph.frameworks.pytorch.in_place_ops import written_places
from isomorph.frameworks.pytorch.program import Program, Step, operator_name, replace_refs

Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps needed for one cut, and after which of them each value may be let go."""

    steps: tuple[tuple[int, Step], ...]
    releases: tuple[tuple[str, ...], ...]
    reads: frozenset[str]


class Planner:
    """Plans cuts of one program; the last few are kept, since draws repeat them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._producers = {
            name: index for index, step in enumerate(program.steps) for name in step.gives
        }
        self._known = {*self._producers, *program.inputs, *program.constants, *program.fixed}
        self.plan = lru_cache(maxsize=64)(self._plan)

    def _plan(self, fed: frozenset[str], fetch: tuple[str, ...]) -> Plan:
        """What must run to get ``fetch`` when ``fed`` is given."""
        self._refuse_unknown((*sorted(fed), *fetch))
        return self._ordered(fed, fetch, self._needed(fed, fetch))

    def whole(self, fetch: tuple[str, ...]) -> Plan:
        """Every step, for programs whose steps also act by what they write."""
        every = set(range(len(self.program.steps)))
        return self._ordered(frozenset(self.program.inputs), fetch, every)

    def _ordered(self, fed: frozenset[str], fetch: tuple[str, ...], needed: set[int]) -> Plan:
        steps = tuple((index, self.program.steps[index]) for index in sorted(needed))
        last = {name: place for place, (_, step) in enumerate(steps) for name in step.needs}
        for place, (_, step) in enumerate(steps):
            for name in step.gives:
                last.setdefault(name, place)
        releases: list[list[str]] = [[] for _ in steps]
        for name, place in last.items():
            if name not in fetch:
                releases[place].append(name)
        reads = frozenset(name for _, step in steps for name in step.needs) | frozenset(fetch)
        self._refuse_missing(fed, reads)
        return Plan(steps=steps, releases=tuple(map(tuple, releases)), reads=reads)

    def _needed(self, fed: frozenset[str], fetch: Iterable[str]) -> set[int]:
        needed: set[int] = set()
        waiting = [name for name in fetch if name not in fed]
        while waiting:
            index = self._producers.get(waiting.pop())
            if index is None or index in needed:
                continue
            needed.add(index)
            waiting += [name for name in self.program.steps[index].needs if name not in fed]
        return needed

    def _refuse_unknown(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._known:
                raise UsageError(
                    "UNKNOWN_TENSOR",
                    f"the model has no tensor {name!r}",
                    fix="isomorph inspect --nodes lists them",
                )

    def _refuse_missing(self, fed: frozenset[str], reads: frozenset[str]) -> None:
        missing = [name for name in self.program.inputs if name in reads and name not in fed]
        if missing:
            raise UsageError(
                "MISSING_INPUT",
                f"no value for input {', '.join(map(repr, missing))}",
                fix="give an array for every input by its name",
            )


Evaluate = Callable[[int, Step, Values], Any]
"""Computes one step from the values so far: its index, the step, the values."""


def execute(
    plan: Plan,
    values: Values,
    fetch: Sequence[str],
    evaluate: Evaluate,
    keep: Callable[[str, Any], Any] = lambda _, value: value,
) -> dict[str, Any]:
    """Run the plan in order; ``values`` is used up. ``keep`` says how what is fetched is held."""
    fetched = {name: keep(name, values[name]) for name in fetch if name in values}
    for place, (index, step) in enumerate(plan.steps):
        leave(step.name)
        # What is fed stays: another output of a step that runs anyway may have been cut.
        given = bind(step, evaluate(index, step, values))
        for name, value in given.items():
            fed = name in values
            if not fed:
                values[name] = value
            if name in fetch and not fed:
                fetched[name] = keep(name, value)
        for name in plan.releases[place]:
            values.pop(name, None)
    return fetched


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
        held: Any = named if isinstance(where, str) else arguments
        if (where in held) if isinstance(where, str) else where < len(held):
            held[where] = _copy(held[where])
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
    message = str(error).strip().splitlines()
    return RuntimeFailedError(
        "RUNTIME_FAILED",
        f"torch could not compute {operator_name(step.target)}",
        where=f"node {step.name}",
        why=message[0] if message else type(error).__name__,
    )


def starting_values(
    program: Program, feeds: Mapping[str, Any], plan: Plan, constants: Mapping[str, Any]
) -> Values:
    """Feeds first, then whatever constants the plan reads."""
    values: Values = {name: constants[name] for name in plan.reads if name in constants}
    values.update({name: program.fixed[name] for name in plan.reads if name in program.fixed})
    values.update(feeds)
    return values
