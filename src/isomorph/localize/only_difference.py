"""Whether a constant is the only difference between two graphs, behind a part that was rewritten.

Two graphs may compute the same data by different operators and use it in the same way from there
on. Where one constant differs at the same operator on the same data, and everything that depends
on it is the same in both graphs, nothing compensates for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.localize.same_operand import readers_of_both, same_values
from isomorph.match.same_structure import matched_specs, paired_operands

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.same_structure import Pair
    from isomorph.match.stored_weights import Weights
    from isomorph.measure.evaluated_model import EvaluatedModel


def only_difference(
    difference: ConstantDifference,
    weights: tuple[Weights, Weights],
    pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]],
) -> bool:
    """Whether both graphs are the same from the readers of a constant on, and read the same data.

    ``pairs`` are both models on the inputs on which the data is compared.
    """
    nodes = readers_of_both(difference, weights)
    read = None if nodes is None else _read_behind(nodes, weights)
    if nodes is None or read is None:
        return False
    operands, slot = paired_operands(nodes[1], nodes[0]), difference.weight.readers[0].slot
    if operands is None or slot < 0:
        return False
    read += [pair for pair in operands if pair[0] != nodes[1].inputs[slot]]
    data = []
    for name, other in dict.fromkeys(read):
        fixed = name not in weights[1].topology.live, other not in weights[0].topology.live
        if not any(fixed):
            data.append((name, other))
        elif not all(fixed) or not _equal_constants(name, other, weights):
            return False
    return _same_data(data, pairs)


def _read_behind(nodes: tuple[Node, Node], weights: tuple[Weights, Weights]) -> list[Pair] | None:
    """Return what the nodes behind a pair of nodes read from elsewhere; None if they differ."""
    reference, candidate = weights
    below = [
        {*node.outputs, *side.topology.below(filter(None, node.outputs))}
        for side, node in zip(weights, nodes, strict=True)
    ]
    ends = matched_specs([side.graph.outputs for side in weights])
    if ends is None:
        return None
    known: dict[str, str] = {}
    elsewhere: list[Pair] = []
    reached = False
    open_ends = list(ends.items())
    while open_ends:
        name, other = open_ends.pop()
        inside = name in below[1]
        if inside != (other in below[0]) or known.get(name, other) != other:
            return None
        if name in known:
            continue
        known[name] = other
        if not inside:
            elsewhere.append((name, other))
            continue
        node, partner = candidate.topology.maker[name], reference.topology.maker[other]
        if node.outputs.index(name) != partner.outputs.index(other):
            return None
        if node is nodes[1] or partner is nodes[0]:
            if node is not nodes[1] or partner is not nodes[0]:
                return None
            reached = True
            continue
        operands = paired_operands(node, partner)
        if operands is None:
            return None
        open_ends += operands
    return elsewhere if reached else None


def _equal_constants(name: str, other: str, weights: tuple[Weights, Weights]) -> bool:
    """Whether two constants, stored or computed from others, hold the same numbers."""
    reference, candidate = weights
    stored = candidate.graph.constants.get(name), reference.graph.constants.get(other)
    if stored[0] is not None and stored[1] is not None and stored[0].digest == stored[1].digest:
        return True
    one, two = reference.stored_array(other), candidate.stored_array(name)
    return one is not None and two is not None and same_values(one, two)


def _same_data(
    data: Sequence[Pair], pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]]
) -> bool:
    """Whether tensors of both models have the same values on every input that both accept."""
    compared = 0
    for ref, cand in pairs:
        try:
            expected = ref.oracle().run(ref.feeds, [other for _, other in data])
            actual = cand.oracle().run(cand.feeds, [name for name, _ in data])
        except (IsomorphError, ValueError):
            continue  # an input that a model rejects shows nothing
        if not all(same_values(expected[other], actual[name]) for name, other in data):
            return False
        compared += 1
    return compared > 0
