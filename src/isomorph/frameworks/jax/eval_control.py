"""Regions of StableHLO operations: loops, branches, and what joins or orders two numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.oracle.arithmetic import RealArithmetic
from isomorph.oracle.control_flow import as_data, chosen, mapped, while_loop
from isomorph.oracle.executor import Executor
from isomorph.oracle.step import Scope
from isomorph.oracle.value import EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.jax.eval_steps import JaxStep, Part
    from isomorph.oracle.step import Read, Rule


def _run(
    executor: Executor, part: Part, given: Sequence[EvalValue], scope: Scope, read: Read
) -> list[EvalValue]:
    return executor.body(part, dict(zip(part.inputs, given, strict=True)), scope, outer=read)


def _while(
    executor: Executor, step: JaxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    def test(carried: Sequence[EvalValue], count: int) -> list[EvalValue]:
        inner = scope.inside(step.index, count, 0)
        return _run(executor, step.bodies["cond"], carried, inner, read)

    def body(carried: Sequence[EvalValue], count: int) -> list[EvalValue]:
        inner = scope.inside(step.index, count, 1)
        return _run(executor, step.bodies["body"], carried, inner, read)

    return while_loop(inputs[: step.operands_read], test, body)


def _case(
    executor: Executor, step: JaxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    parts = list(step.bodies.values())
    asked = int(np.asarray(inputs[0].data).reshape(-1)[0])
    if step.op == "if":
        place = 0 if asked else 1
    else:
        # A number that no branch has takes the last one.
        place = asked if 0 <= asked < len(parts) else len(parts) - 1
    found = _run(executor, parts[place], (), scope.inside(step.index, place), read)
    return chosen(found, inputs[0])


RULES: Mapping[str, Rule] = {"while": _while, "case": _case, "if": _case}
"""How operations are evaluated whose regions are loops and branches."""


def reduced_by_body(
    executor: Executor, step: JaxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    """Several tensors joined along axes by a region, neighbors first, all pairs at a time.

    The region's order of joining is not defined, so that any gives what the module means.
    """
    count = step.operands_read // 2
    given = inputs[: 2 * count]
    if not all(value.constant for value in given):
        given = [as_data(value) for value in given]
    axes = integers(step.attributes["dimensions"])
    values = [mapped(value, lambda x: _last(x, axes)) for value in given[:count]]
    starts, part, turn = given[count:], next(iter(step.bodies.values())), 0

    def join(left: Sequence[EvalValue], right: Sequence[EvalValue]) -> list[EvalValue]:
        nonlocal turn
        turn += 1
        return _run(executor, part, (*left, *right), scope.inside(step.index, turn), read)

    while (length := values[0].data.shape[-1]) > 1:
        pairs = length // 2
        left = [mapped(value, _every(0, pairs)) for value in values]
        right = [mapped(value, _every(1, pairs)) for value in values]
        rest = [mapped(value, lambda x: x[..., 2 * pairs :]) for value in values]  # noqa: B023
        values = [_behind(*both) for both in zip(join(left, right), rest, strict=True)]
    shape = values[0].data.shape[:-1]
    first = [mapped(value, lambda x: np.broadcast_to(x, shape)) for value in starts]
    if values[0].data.shape[-1] == 0:
        return first
    return join(first, [mapped(value, lambda x: x[..., 0]) for value in values])


def _last(x: Any, axes: Sequence[int]) -> Any:  # noqa: ANN401
    """The array with some axes as one, which stands last."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.transpose(*kept, *axes)
    return np.ascontiguousarray(moved).reshape(*(x.shape[axis] for axis in kept), -1)


def _every(first: int, pairs: int) -> Callable[[Any], Any]:
    return lambda x: x[..., first : 2 * pairs : 2]


def _behind(one: EvalValue, other: EvalValue) -> EvalValue:
    if not other.data.shape[-1]:
        return one
    together = np.concatenate([one.data, other.data], axis=-1)
    shift = None
    if one.shift is not None or other.shift is not None:
        parts = [
            np.zeros(each.data.shape) if each.shift is None else each.shift for each in (one, other)
        ]
        shift = np.concatenate(parts, axis=-1)
    return EvalValue(together, dtype=one.dtype, constant=one.constant, shift=shift)


def keys_of(part: Part, read: Read) -> tuple[tuple[int, bool], ...] | None:
    """The tensors by which a comparator orders, with whether the largest comes first.

    It is asked about pairs of numbers that are equal but in one place. None where its answers are
    not those of an order by one tensor after another.
    """
    needed = _read_by(part)
    places = sorted({place // 2 for place, name in enumerate(part.inputs) if name in needed})
    keys = []
    for place in places:
        ascending, descending = (_before(part, read, place, pair) for pair in ((0, 1), (1, 0)))
        if ascending == descending:
            return None
        keys.append((place, descending))
    if _before(part, read, None, (0, 0)):
        return None
    if len(places) > 1 and not _lexicographic(part, read, keys):
        return None
    return tuple(keys)


def _lexicographic(part: Part, read: Read, keys: Sequence[tuple[int, bool]]) -> bool:
    """Whether an earlier key decides where a later one says the opposite."""
    for (one, first), (other, second) in pairwise(keys):
        pairs = {one: (1, 0) if first else (0, 1), other: (0, 1) if second else (1, 0)}
        if not _answer(part, read, pairs):
            return False
    return True


def _before(part: Part, read: Read, place: int | None, pair: tuple[int, int]) -> bool:
    return _answer(part, read, {} if place is None else {place: pair})


def _answer(part: Part, read: Read, pairs: Mapping[int, tuple[int, int]]) -> bool:
    given = [
        EvalValue(np.asarray(pairs.get(place // 2, (0, 0))[place % 2], np.float64), dtype="float32")
        for place in range(len(part.inputs))
    ]
    (found,) = _run(Executor(RealArithmetic()), part, given, Scope(), read)
    return bool(found.data)


def _read_by(part: Part) -> set[str]:
    """The tensors that the result of a region depends on."""
    needed = set(part.outputs)
    for step in reversed(part.steps):
        if needed & set(step.outputs):
            needed |= set(step.needs)
    return needed
