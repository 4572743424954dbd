"""Constants that are identified by their reader: the same operator on the same data.

The value of a threshold or a scale does not identify it. Where all other constants of both graphs
are equal, and one node of each applies the same operator to the same data with another constant,
the constant was changed. Whether this matters is tested at the node itself: both constants give the
same result on the tried inputs (a threshold, a limit), but not for data between the values seen at
the same element. A limit that the data cannot reach makes no difference, and a constant that
already changes the node's result is judged by the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import OPERAND_PROBES
from isomorph.match.small_constants import kind_of
from isomorph.oracle.noise import unit_roundoff
from isomorph.sessions.fetched_feeds import as_type, converted

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array, Value
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.stored_weights import Weights
    from isomorph.measure.evaluated_model import EvaluatedModel

_EITHER_WAY = frozenset(
    {"Add", "Mul", "Max", "Min", "Sum", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"}
)
"""Operators whose operands may be exchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """What the candidate's node reads besides the constant, on all tried inputs."""

    name: str
    seen: list[Array] = field(default_factory=list, repr=False)

    def probes(self, between: Array, random: np.random.Generator) -> Iterator[Array]:
        """Yield data within the seen range: between both constants first, then random."""
        seen = np.stack(self.seen)
        low, high = seen.min(axis=0), seen.max(axis=0)
        whole = seen.dtype.kind != "f" or np.array_equal(seen, np.rint(seen))
        try:
            placed = np.broadcast_to(between, low.shape)
        except ValueError:
            placed = low
        if not whole:
            yield np.asarray(np.clip(placed, low, high))
        for _ in range(OPERAND_PROBES):
            if whole:  # counts, masks and labels have no values between
                picked = random.integers(len(seen), size=(1, *low.shape))
                yield np.take_along_axis(seen, picked, axis=0)[0]
            else:
                yield np.asarray(random.uniform(low, high))


def reads_same_data(
    difference: ConstantDifference,
    weights: tuple[Weights, Weights],
    pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]],
    replaced: Array,
) -> bool:
    """Whether both nodes read the same data on all inputs, and could give different results."""
    nodes = readers_of_both(difference, weights)
    data = None if nodes is None else _same_data(nodes, weights, pairs)
    if nodes is None or data is None:
        return False
    return _differs(difference, nodes[1], data, pairs[0][1], replaced)


def applied_to_same_data(
    difference: ConstantDifference,
    weights: tuple[Weights, Weights],
    pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]],
) -> bool:
    """Whether two nodes apply their weights to the same data, with the same operators behind them.

    A step right behind one of them, such as a negation, could make up for another weight.
    """
    nodes = readers_of_both(difference, weights)
    if nodes is None or _same_data(nodes, weights, pairs) is None:
        return False
    behind = [
        sorted(each.op for name in node.outputs for each in side.topology.readers.get(name, ()))
        for side, node in zip(weights, nodes, strict=True)
    ]
    return behind[0] == behind[1]


def _same_data(
    nodes: tuple[Node, Node],
    weights: tuple[Weights, Weights],
    pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]],
) -> list[_Data] | None:
    """What both nodes read besides constants, where that is the same on all these inputs."""
    operands = [side.topology.sources(node) for side, node in zip(weights, nodes, strict=True)]
    if len(operands[0]) != len(operands[1]) or not operands[0]:
        return None
    data = [_Data(name=name) for name in operands[1]]
    for ref, cand in pairs:
        try:
            expected = ref.oracle().run(ref.feeds, list(operands[0]))
            actual = cand.oracle().run(cand.feeds, list(operands[1]))
        except (IsomorphError, ValueError):
            continue  # an input that a model rejects shows nothing
        for name, each in zip(operands[0], data, strict=True):
            one, two = np.asarray(expected[name]), np.asarray(actual[each.name])
            if not same_values(one, two):
                return None
            each.seen.append(two)
    known = all(each.seen and each.seen[0].dtype.kind in "fiub" for each in data)
    return data if known else None


def readers_of_both(
    difference: ConstantDifference, weights: tuple[Weights, Weights]
) -> tuple[Node, Node] | None:
    """Return the only readers of both constants if they apply the same operator."""
    reference = weights[0]
    name = difference.reference[0]
    source = reference.stored.get(name) or reference.scalars.get(name)
    if source is None or len(source.readers) != 1 or len(difference.weight.readers) != 1:
        return None
    ref, cand = source.readers[0], difference.weight.readers[0]
    if kind_of(ref) != kind_of(cand) or ref.node.attributes != cand.node.attributes:
        return None
    if ref.slot != cand.slot and ref.node.op not in _EITHER_WAY:
        return None
    return ref.node, cand.node


def same_values(one: Value, two: Value) -> bool:
    """Whether two float64 results of one function are equal up to their own rounding."""
    if not (isinstance(one, np.ndarray) and isinstance(two, np.ndarray)):
        return False
    if one.shape != two.shape or one.dtype.kind not in "fiub" or two.dtype.kind not in "fiub":
        return False
    if one.dtype.kind != "f" or two.dtype.kind != "f":
        return bool(np.array_equal(one, two))
    finite = np.abs(two[np.isfinite(two)])
    # All other constants are equal: the same float64 sums in another order differ by less.
    bound = unit_roundoff("float32") * float(np.max(finite, initial=0.0))
    return bool(np.allclose(one, two, rtol=0.0, atol=bound, equal_nan=True))


def _differs(
    difference: ConstantDifference,
    node: Node,
    data: Sequence[_Data],
    candidate: EvaluatedModel,
    replaced: Array,
) -> bool:
    """Whether the node's result differs between the seen values, but not on them."""
    random, name = np.random.default_rng(candidate.seed), difference.weight.name
    actual = np.asarray(candidate.oracle().run({}, [name])[name])
    between = 0.5 * (np.asarray(actual, np.float64) + np.asarray(replaced, np.float64))

    def parts(values: Sequence[Array]) -> bool:
        named = {each.name: value for each, value in zip(data, values, strict=True)}
        feeds = converted(named, {each.name: as_type(each.seen[0].dtype) for each in data})
        results = (
            candidate.oracle().run({**feeds, name: constant}, node.outputs[:1])
            for constant in (actual, replaced)
        )
        wrong, right = (np.asarray(each[node.outputs[0]], np.float32) for each in results)
        return not np.array_equal(wrong, right, equal_nan=True)

    try:
        if any(map(parts, zip(*(each.seen for each in data), strict=True))):
            return False
        probes = [list(each.probes(between, random)) for each in data]
        most = max(map(len, probes))
        # Data that only takes whole numbers has one probe fewer: its last one is used again.
        filled = [(*each, *each[-1:] * (most - len(each))) for each in probes]
        return any(map(parts, zip(*filled, strict=True)))
    except (IsomorphError, ValueError):
        return False
