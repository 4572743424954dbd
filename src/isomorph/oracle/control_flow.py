"""Branches and loops: what a decision makes of the values that it chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isomorph.oracle.value import EvalValue

RunBody = Callable[[Sequence[EvalValue], int], list[EvalValue]]
"""Runs one body of a loop on the carried values in a round."""


def truth(value: EvalValue) -> bool:
    """The decision that a condition states: its first element."""
    return bool(np.asarray(value.data).reshape(-1)[0])


def as_data(value: EvalValue) -> EvalValue:
    """A value that a decision on data has chosen, or that a variable keeps: it is no constant."""
    if not value.constant or value.data is None:
        return value
    return EvalValue(value.wide(), dtype=value.dtype)


def chosen(outputs: list[EvalValue], *decisions: EvalValue) -> list[EvalValue]:
    """What a branch returns: constants only if every decision for it was made among constants."""
    if all(decision.constant for decision in decisions):
        return outputs
    return [as_data(value) for value in outputs]


def while_loop(
    carried: Sequence[EvalValue],
    test: RunBody,
    body: RunBody,
    is_true: Callable[[EvalValue], bool] = truth,
) -> list[EvalValue]:
    """The carried values after the last round; data once a decision was one."""
    values, decisions, count = list(carried), list[EvalValue](), 0
    while True:
        going = test(values, count)[0]
        if not going.constant:
            decisions = [going]
        if not is_true(going):
            return chosen(values, *decisions)
        values = body(values, count)
        count += 1


def mapped(value: EvalValue, function: Callable[[Any], Any]) -> EvalValue:
    """A selection from a value, applied to its data and to its noise."""
    shift = None if value.shift is None else function(value.shift)
    return EvalValue(function(value.data), dtype=value.dtype, constant=value.constant, shift=shift)
