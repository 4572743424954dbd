"""Recognize another checkpoint: the same graph, with most weights off by another training.

A faulty conversion changes one weight, or a few. Where most weights resemble their counterparts and
equal none of them, naming each node that reads one says less than this one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import threshold
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.messages.phrases import percentage
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.core.stated_numbers import CHECKPOINT_WEIGHTS, COMPUTED_ERROR
from isomorph.match.rounded_weights import narrowed
from isomorph.match.stored_weights import Weights
from isomorph.match.value_match import weight_arrangements

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight
    from isomorph.measure.evaluated_model import EvaluatedModel

CODE = "OTHER_CHECKPOINT"
_FEWEST_NUMBERS = 4
"""Fewer numbers have no correlation that chance does not reach."""
_NARROW = ("float16", "bfloat16")
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A weight of the candidate and its counterpart, by place; ``apart`` is 0 where equal.

    ``related``: they are correlated beyond chance, as two states of one training are.
    """

    weight: StoredWeight
    apart: float = 0.0
    related: bool = False


def other_checkpoint(reference: EvaluatedModel, candidate: EvaluatedModel) -> Finding | None:
    """Return the finding that these are two checkpoints; None where they may be one."""
    if reference.handle is None or candidate.handle is None:
        return None
    try:
        sides = Weights.of(reference.handle), Weights.of(candidate.handle)
        pairs = _pairs(*sides)
    except IsomorphError:
        return None  # noted where all weights are compared
    differing = [each for each in pairs or () if each.apart > 0.0]
    if pairs is None or len(pairs) < CHECKPOINT_WEIGHTS or 2 * len(differing) <= len(pairs):
        return None
    related = sum(each.weight.size for each in pairs if each.related)
    if 2 * related <= sum(each.weight.size for each in pairs):
        return None
    typical = float(np.median([each.apart for each in differing]))
    nodes = dict.fromkeys(reader.node.name for each in differing for reader in each.weight.readers)
    return Finding(
        code=CODE,
        cause="weight",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=message(
            "OTHER_CHECKPOINT.weights",
            count=len(differing),
            total=len(pairs),
            typical=percentage(typical),
        ),
        nodes=tuple(nodes),
        tensors=tuple(each.weight.name for each in differing)[:3],
        evidence={
            "weights": len(pairs),
            "differing": len(differing),
            "typical": typical,
            "farthest": [
                {"weight": each.weight.name, "relative": each.apart}
                for each in sorted(differing, key=lambda each: -each.apart)[:_MOST_LISTED]
            ],
        },
        fix=message("OTHER_CHECKPOINT.fix"),
    )


def _pairs(reference: Weights, candidate: Weights) -> list[_Pair] | None:
    """Pair the weights; None where one is a rounded or scaled form of its counterpart."""
    found = []
    for weight, source in _paired(_of(reference), _of(candidate)):
        if weight.value_digest == source.value_digest:
            found.append(_Pair(weight=weight))
            continue
        if weight.grid is not None or source.grid is not None:
            return None
        actual, stored = candidate.real(weight), reference.real(source)
        if actual is None or stored is None:
            return None
        right = max(weight_arrangements(stored, actual.shape), key=partial(_likeness, actual))
        if not np.array_equal(actual, right) and _derived(actual, right):
            return None
        apart = float(np.linalg.norm(actual - right) / (np.linalg.norm(right) or 1.0))
        found.append(_Pair(weight=weight, apart=apart, related=_related(actual, right)))
    return found


def _of(side: Weights) -> list[StoredWeight]:
    kept = (each for each in side.stored.values() if each.size >= _FEWEST_NUMBERS)
    return sorted(kept, key=lambda each: each.order)


def _paired(
    reference: Sequence[StoredWeight], candidate: Sequence[StoredWeight]
) -> Iterator[tuple[StoredWeight, StoredWeight]]:
    """Weights of the same sizes, each with the one at its place among these."""
    for sizes in dict.fromkeys(_sizes(each) for each in candidate):
        here = [each for each in candidate if _sizes(each) == sizes]
        there = [each for each in reference if _sizes(each) == sizes]
        if len(here) == len(there):
            yield from zip(here, there, strict=True)


def _sizes(weight: StoredWeight) -> tuple[int, ...]:
    return tuple(sorted(size for size in weight.shape if size != 1))


def _derived(actual: Array, right: Array) -> bool:
    """Whether a weight was rounded to a narrower type, or folded with something."""
    narrow = any(np.array_equal(actual, narrowed(right, dtype)) for dtype in _NARROW)
    return bool(narrow or _scaled(actual, right))


def _related(actual: Array, right: Array) -> bool:
    """Whether most numbers differ, and all are correlated beyond chance."""
    if 2 * np.count_nonzero(actual != right) <= actual.size:
        return False
    likeness = min(_likeness(actual, right), 1.0 - np.finfo(np.float64).eps)
    beyond = float(np.arctanh(likeness)) * math.sqrt(max(actual.size - 3, 0))
    return beyond > threshold(1)


def _likeness(left: Array, right: Array) -> float:
    one, other = left.reshape(-1), right.reshape(-1)
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / sizes if sizes > 0 else 0.0


def _scaled(actual: Array, stored: Array) -> bool:
    """Whether the channels of one axis are multiples of the reference's, as folding makes them."""
    for axis in range(actual.ndim if actual.ndim > 1 else 0):
        one, other = (
            np.moveaxis(each, axis, 0).reshape(each.shape[axis], -1) for each in (actual, stored)
        )
        with np.errstate(all="ignore"):
            factors = np.sum(one * other, axis=1) / np.sum(other * other, axis=1)
        left = np.linalg.norm(one - np.nan_to_num(factors)[:, None] * other)
        if one.shape[1] > 1 and left <= COMPUTED_ERROR**2 * np.linalg.norm(one):
            return True
    return False
