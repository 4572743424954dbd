"""Whether a change of the candidate moves its outputs, and toward the reference or away from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import student
from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import NEAR_OUTPUTS, SAME_SCALE, SHARE_BY_CHANCE
from isomorph.match.axis_layout import arrangements

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.localize.input_search import Trial


class Effect(StrEnum):
    """The result of an experiment with a weight or an attribute that differs."""

    SHOWN = "shown"
    """With the reference's value the candidate is closer to the reference."""
    NOT_REACHED = "not reached"
    """No input that was tried makes a difference."""
    UNDECIDED = "undecided"
    """It changes the outputs, but by less than the lower precision around it does."""
    REFUTED = "refuted"
    """With the reference's values the candidate is farther off: something compensates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantEffect:
    """The result of the experiment, and the input that shows it where one was found."""

    effect: Effect
    tried: int = 0
    trial: Trial | None = None
    given: bool = False
    """Whether the given inputs show it already."""
    output: str | None = None
    divergent: bool = False
    """Whether the outputs on that input are beyond every budget."""


def nearer(
    pairs: Sequence[tuple[Array, Array, Array]],
    *,
    on_grid: bool = False,
    corrected: int | None = None,
) -> Effect:
    """Whether the expected outputs are closer to the corrected ones (last) or the actual ones.

    The error of the actual outputs is compared with the change by the correction: a share of one
    is an error that it removes, zero one that it adds. The remainder measures the uncertainty. A
    share that is nearer to another whole number has another cause, such as a quantizer that
    saturates: then the error states nothing about the correction, whichever way it points.
    With ``on_grid``, outputs may be rounded to a grid of their own, and that the actual ones are
    right says little where the correction moves them by a single step. Where only so many numbers
    are ``corrected``, what the rounding of others moves along with them is no more independent
    than they are, and refutes less. Where the correction changes a shape, the shapes decide.
    """
    by_shape = {seen for each in pairs if (seen := _by_shape(*each)) is not None}
    if by_shape:
        return by_shape.pop() if len(by_shape) == 1 else Effect.UNDECIDED
    errors, steps, apart = [], [], []
    for expected, actual, right in pairs:
        if expected.size != actual.size or right.shape != actual.shape:
            continue
        placed = arranged_like(expected, actual)
        with np.errstate(all="ignore"):
            error, step = (actual - placed).ravel(), (actual - right).ravel()
            size = float(np.max(np.abs(step), initial=0.0, where=np.isfinite(step)))
        known = np.isfinite(error) & np.isfinite(step)
        if size == 0.0 or not known.any():
            continue
        error, step = error[known] / size, step[known] / size
        errors.append(error[step != 0.0])
        steps.append(step[step != 0.0])
        apart.append(error[step == 0.0])
    if not steps:
        return Effect.UNDECIDED
    error, step, other = np.concatenate(errors), np.concatenate(steps), np.concatenate(apart)
    power = float(np.dot(step, step))
    if power == 0.0:
        return Effect.UNDECIDED
    share = float(np.dot(error, step)) / power
    freedom = max(step.size - 1, 1)
    remains = float(np.sum(np.square(error - share * step))) / freedom
    around = float(np.mean(np.square(other))) if other.size else 0.0
    if around > remains:
        remains, freedom = around, other.size
    beyond = student(1, freedom, SHARE_BY_CHANCE)
    doubt = beyond * math.sqrt(remains / power)
    if round(share) == 1 and share - 0.5 > doubt:
        return Effect.SHOWN
    if on_grid:
        remains = max(remains, _rounded_apart(step))
        doubt = beyond * math.sqrt(remains / power)
    if corrected is not None and corrected < step.size:
        alike = step.size / max(corrected, 1)
        doubt = student(1, corrected - 1, SHARE_BY_CHANCE) * math.sqrt(alike * remains / power)
    refuted = round(share) == 0 and 0.5 - share > doubt
    return Effect.REFUTED if refuted else Effect.UNDECIDED


def _rounded_apart(step: Array) -> float:
    """Return the variance between two roundings to the grid of these steps; 0 without a grid."""
    unit = float(np.min(np.abs(step)))
    whole = step / unit
    on_grid = np.allclose(whole, np.rint(whole), rtol=0.0, atol=SAME_SCALE * np.max(np.abs(whole)))
    return unit * unit / 6.0 if on_grid else 0.0


def _by_shape(expected: Array, actual: Array, right: Array) -> Effect | None:
    """Which of two shapes the expected output has; None where they are the same."""
    sizes = [sorted(each.shape) for each in (expected, actual, right)]
    if sizes[1] == sizes[2]:
        return None
    if sizes[0] not in sizes[1:]:
        return Effect.UNDECIDED
    return Effect.SHOWN if sizes[0] == sizes[2] else Effect.REFUTED


def arranged_like(expected: Array, actual: Array) -> Array:
    """Return the reference's output in the arrangement of axes that is closest."""
    if expected.shape == actual.shape:
        return expected
    placed = [each.array(expected) for each in arrangements(expected.shape, actual.shape)]
    placed = placed or [expected.reshape(actual.shape)]
    with np.errstate(all="ignore"):
        return min(placed, key=lambda each: float(np.nansum(np.square(each - actual))))


def differ_as_stored(actual: Mapping[str, Array], right: Mapping[str, Array]) -> bool:
    """Whether any element differs in float32, or a shape does."""
    with np.errstate(all="ignore"):
        return any(
            name in right
            and not np.array_equal(np.float32(value), np.float32(right[name]), equal_nan=True)
            for name, value in actual.items()
        )


def near_outputs(
    expected: Mapping[str, Array], actual: Mapping[str, Array], outputs: Sequence[Binding]
) -> bool:
    """Whether the outputs of two models are so close that they are not worth judging."""
    for pair in outputs:
        one, two = expected.get(pair.reference), actual.get(pair.candidate)
        if one is None or two is None:
            continue
        if one.size != two.size:
            return False
        size = float(np.max(np.abs(two), initial=0.0, where=np.isfinite(two)))
        bound = NEAR_OUTPUTS * min(size, 1.0)
        placed = arranged_like(one, two)
        if not np.allclose(placed, two, rtol=NEAR_OUTPUTS, atol=bound, equal_nan=True):
            return False
    return True


def same_text(
    expected: Mapping[str, Array] | IsomorphError,
    actual: Mapping[str, Array] | IsomorphError,
    outputs: Sequence[Binding],
) -> bool:
    """Whether the outputs that are no numbers are the same."""
    if isinstance(expected, IsomorphError) or isinstance(actual, IsomorphError):
        return True
    pairs = [(expected.get(pair.reference), actual.get(pair.candidate)) for pair in outputs]
    return all(
        np.array_equal(one, two)
        for one, two in pairs
        if one is not None and two is not None and two.dtype.kind not in "fiub"
    )


def numeric(outputs: Mapping[str, Array] | IsomorphError) -> dict[str, Array]:
    """Return the outputs that are numbers, in float64."""
    if isinstance(outputs, IsomorphError):
        raise outputs
    return {
        name: np.asarray(value, np.float64)
        for name, value in outputs.items()
        if value.dtype.kind in "fiub"
    }
