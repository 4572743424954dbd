"""Weights of recurrent nodes: gate blocks in another order, or stacked from another framework's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.ops import GATES
from isomorph.diagnose import node_constants
from isomorph.diagnose.constant_diff import ROUNDING

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

# How the gates of PyTorch and Keras become ONNX's: i f g o → i o f c, and r z n → z r h.
_KNOWN_ORDERS = {
    4: ((0, 3, 1, 2), (0, 1, 2, 3)),
    3: ((1, 0, 2), (0, 1, 2)),
    1: ((0,),),
}  # fmt: skip

Change = tuple[list[tuple[str, "Array"]], str]
"""Constants with their new values, and what was done in words."""


def recurrent(context: FaultContext) -> Iterator[Change]:
    """The reference's weights packed as ONNX wants them; then the candidate's own reordered."""
    for name, value, whole in packed(context):
        if not np.array_equal(whole, value):
            yield [(name, whole)], message("PATCH.gate_weights")
    for node in _nodes(context):
        yield from _packed_together(context, node)
        yield from _reordered(_node_weights(context, node), GATES[node.op])


def packed(context: FaultContext) -> Iterator[tuple[str, Array, Array]]:
    """Each packed weight of a recurrent node, as it is and as the reference's would make it."""
    for node in _nodes(context):
        gates = GATES[node.op]
        known = list(singles(_reference_values(context), gates))
        for name, value in _node_weights(context, node).items():
            likely = likely_order(value, known, gates)
            orders = (*((likely,) if likely is not None else ()), *_KNOWN_ORDERS[gates])
            for order in dict.fromkeys(orders):
                for whole in stacked(value.shape, known, order):
                    yield name, value, whole


def _packed_together(context: FaultContext, node: Node) -> Iterator[Change]:
    """All weights of a node from the same layer of the reference, where several are wrong."""
    weights, gates = _node_weights(context, node), GATES[node.op]
    layers = _by_direction(list(singles(_reference_values(context), gates)))
    directions = max((value.shape[0] for value in weights.values() if value.ndim == 3), default=1)
    for first in range(len(layers) - directions + 1):
        known = [each for layer in layers[first : first + directions] for each in layer]
        for order in _KNOWN_ORDERS[gates]:
            whole = {
                name: next(stacked(value.shape, known, order), value)
                for name, value in weights.items()
            }
            changed = [
                (name, value)
                for name, value in whole.items()
                if not np.array_equal(value, weights[name])
            ]
            if len(changed) > 1:
                yield changed, message("PATCH.gate_weights")


def _by_direction(known: Sequence[Array]) -> list[list[Array]]:
    """The reference's values by layer and direction: two matrices, and the vectors behind them."""
    found: list[list[Array]] = []
    for value in known:
        if value.ndim == 2 and (not found or sum(each.ndim == 2 for each in found[-1]) == 2):
            found.append([])
        if found:
            found[-1].append(value)
    return found


def _nodes(context: FaultContext) -> list[Node]:
    return [each for each in context.nodes if each.op in GATES]


def _node_weights(context: FaultContext, node: Node) -> dict[str, Array]:
    """The weights and biases of the recurrent node: what has a row for each gate."""
    return {
        name: value
        for name in node_constants.floats(context.candidate, [node])
        if (value := context.constant(context.candidate, name)) is not None
        and 1 < value.ndim <= 3
        and any(size % GATES[node.op] == 0 for size in value.shape[:2])
    }


def _reference_values(context: FaultContext) -> list[Array]:
    """The reference's weights of recurrent nodes, in its order."""
    values = (context.constant(context.reference, name) for name in _reference_names(context))
    return [each for each in values if each is not None]


def _reference_names(context: FaultContext) -> list[str]:
    return [
        name
        for node in context.counterparts
        if node.op in GATES
        for name in node.inputs
        if name in context.reference.constants
    ]


def singles(known: Sequence[Array], gates: int) -> Iterator[Array]:
    """The matrices and vectors of single directions, out of stacks of all directions too."""
    for value in known:
        if value.ndim == 3:
            yield from value
        elif value.ndim == 2 and value.shape[0] % gates and value.shape[1] % (2 * gates) == 0:
            yield from value.reshape(2 * value.shape[0], -1)
        else:
            yield value


def _joined(known: Sequence[Array], size: int) -> list[Array]:
    """The sums of both biases of each direction."""
    vectors = [each for each in known if each.shape == (size,)]
    return [one + other for one, other in zip(vectors[::2], vectors[1::2], strict=False)]


def likely_order(value: Array, known: Sequence[Array], gates: int) -> tuple[int, ...] | None:
    """The order of gates in which a weight holds all blocks, or all but one, of a known one."""
    for own in value if value.ndim == 3 or value.shape[0] % gates else [value]:
        there = [*known, *(_joined(known, own.size) if own.ndim == 1 else ())]
        for right in there:
            if right.shape != own.shape or own.shape[0] % gates:
                continue
            blocks = np.split(right, gates)
            order = [
                next((k for k, each in enumerate(blocks) if _equal(part, each)), None)
                for part in np.split(own, gates)
            ]
            left = [k for k in range(gates) if k not in order]
            if len(left) == order.count(None) <= 1 < gates:
                return tuple(left[0] if k is None else k for k in order)
    return None


def _equal(one: Array, other: Array) -> bool:
    """Whether these are the same numbers, each rounded once more at most."""
    return bool(np.all(np.abs(one - other) <= ROUNDING * np.abs(other)))


def stacked(
    shape: tuple[int, ...], known: Sequence[Array], order: tuple[int, ...]
) -> Iterator[Array]:
    """Every way to build a weight of this shape, direction by direction, from single matrices.

    A bias of both kinds has two vectors for each direction; they come in the order of the
    directions, the input's before the state's, and one layer's before the next's.
    """
    if len(shape) == 3:
        fits = [each.T if each.T.shape == shape[1:] != each.shape else each for each in known]
        fits = [each for each in fits if each.shape == shape[1:]]
        for chosen in combinations(fits, shape[0]):
            yield np.stack([in_order(each, order) for each in chosen])
    elif len(shape) == 2 and shape[1] % 2 == 0:
        vectors = [each for each in known if each.shape == (shape[1] // 2,)]
        for first in range(0, len(vectors) - 2 * shape[0] + 1, 2):
            parts = [in_order(each, order) for each in vectors[first : first + 2 * shape[0]]]
            yield np.concatenate(parts).reshape(shape)
        for chosen in combinations(_joined(known, shape[1]), shape[0]):
            yield np.stack([in_order(each, order) for each in chosen])
    if len(shape) == 2:
        yield from (in_order(each, order) for each in known if each.shape == shape)


def in_order(value: Array, order: tuple[int, ...]) -> Array:
    """The blocks of the first axis in another order; as it is where they do not divide it."""
    if value.shape[0] % len(order):
        return value
    parts = np.split(value, len(order), axis=0)
    return np.concatenate([parts[each] for each in order], axis=0)


def _reordered(weights: dict[str, Array], blocks: int) -> Iterator[Change]:
    """The gate blocks of some or all of the weights in every other order."""
    matrices = [name for name, value in weights.items() if value.ndim == 3]
    groups = [tuple(matrices), tuple(weights), *((name,) for name in weights)]
    for names in dict.fromkeys(group for group in groups if group):
        for order in permutations(range(blocks)):
            if order != tuple(range(blocks)):
                moved = [(name, _gates_in_order(weights[name], order)) for name in names]
                yield moved, message("PATCH.gate_order", order=order)


def _gates_in_order(value: Array, order: tuple[int, ...]) -> Array:
    """A stored weight, direction by direction; a bias may hold two sets of blocks."""
    if value.ndim == 2 and value.shape[0] % len(order) == 0:
        return in_order(value, order)
    sets = 2 if value.ndim == 2 and value.shape[1] % (2 * len(order)) == 0 else 1
    parts = [np.split(direction, sets, axis=0) for direction in value]
    whole = [np.concatenate([in_order(part, order) for part in each], axis=0) for each in parts]
    return np.stack(whole)
