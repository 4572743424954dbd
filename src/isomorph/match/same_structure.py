"""Compare the structure of two graphs, and pair the constants at the same positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node, TensorSpec
    from isomorph.match.stored_weights import Weights

Pair = tuple[str, str]
"""A tensor of the candidate, and the tensor of the reference at the same position."""


def same_structure(reference: Weights, candidate: Weights) -> dict[str, str] | None:
    """Return the reference's constant for each of the candidate's that an output depends on.

    None where the graphs differ in more than the values of their constants: in an operator, an
    attribute, a connection, a function, or a constant inside a body.
    """
    sides = reference.graph, candidate.graph
    ends = matched_specs([side.outputs for side in sides])
    inputs = matched_specs([side.inputs for side in sides])
    if ends is None or inputs is None or sides[0].functions != sides[1].functions:
        return None
    known: dict[str, str] = {}
    constants: dict[str, str] = {}
    open_ends = list(ends.items())
    while open_ends:
        name, other = open_ends.pop()
        if name in known:
            if known[name] != other:
                return None
            continue
        known[name] = other
        if name in candidate.graph.constants and other in reference.graph.constants:
            constants[name] = other
            continue
        if _same_constant(reference, candidate, name, other):
            continue
        node, partner = candidate.topology.maker.get(name), reference.topology.maker.get(other)
        if node is None or partner is None:
            if node is not partner or inputs.get(name) != other:
                return None
            continue
        if node.outputs.index(name) != partner.outputs.index(other):
            return None
        found = paired_operands(node, partner)
        if found is None:
            return None
        open_ends += found
    return constants if len(set(known.values())) == len(known) else None


def _same_constant(reference: Weights, candidate: Weights, name: str, other: str) -> bool:
    """Whether one of two constants is computed, and both hold the same values of the same type."""
    if name in candidate.topology.live or other in reference.topology.live:
        return False
    if name not in candidate.graph.constants and other not in reference.graph.constants:
        return False  # both are computed: their operators are compared
    one, two = reference.stored_array(other), candidate.stored_array(name)
    return one is not None and two is not None and _equal(one, two)


def matched_specs(specs: Sequence[Sequence[TensorSpec]]) -> dict[str, str] | None:
    """Map the candidate's names (last) to the reference's: by name, or else by position."""
    ref_names, names = ([spec.name for spec in side] for side in specs)
    if set(names) == set(ref_names):
        return {name: name for name in names}
    return dict(zip(names, ref_names, strict=True)) if len(names) == len(ref_names) else None


def paired_operands(node: Node, partner: Node) -> list[Pair] | None:
    """Pair the inputs of two nodes; None where the nodes compute different things."""
    if (node.op, node.native_op) != (partner.op, partner.native_op):
        return None
    if not _same_attributes(node.attributes, partner.attributes):
        return None
    if [bool(each) for each in node.inputs] != [bool(each) for each in partner.inputs]:
        return None
    if len(node.outputs) != len(partner.outputs) or node.bodies.keys() != partner.bodies.keys():
        return None
    pairs = [pair for pair in zip(node.inputs, partner.inputs, strict=True) if pair[0]]
    for key, body in node.bodies.items():
        captured = _captured(body, partner.bodies[key])
        if captured is None:
            return None
        pairs += captured
    return pairs


def _captured(body: Graph, other: Graph) -> list[Pair] | None:
    """Pair what two bodies read from outside; None where they differ in anything."""
    counts = [(len(e.inputs), len(e.nodes), len(e.outputs)) for e in (body, other)]
    if counts[0] != counts[1]:
        return None
    known = {one.name: two.name for one, two in zip(body.inputs, other.inputs, strict=True)}
    known_ref = set(known.values())
    outside: list[Pair] = []

    def agree(pairs: Sequence[Pair]) -> bool:
        for name, partner in pairs:
            if name in known or partner in known_ref:
                if known.get(name) != partner:
                    return False
            elif name in body.constants or partner in other.constants:
                constants = body.constants.get(name), other.constants.get(partner)
                if (
                    constants[0] is None
                    or constants[1] is None
                    or constants[0].digest != constants[1].digest
                ):
                    return False
            else:
                outside.append((name, partner))
        return True

    for node, partner in zip(body.nodes, other.nodes, strict=True):
        pairs = paired_operands(node, partner)
        if pairs is None or not agree(pairs):
            return None
        known.update(zip(node.outputs, partner.outputs, strict=True))
        known_ref.update(partner.outputs)
    ends = [(one.name, two.name) for one, two in zip(body.outputs, other.outputs, strict=True)]
    return outside if agree(ends) else None


def _same_attributes(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    return one.keys() == two.keys() and all(_equal(one[key], two[key]) for key in one)


def _equal(one: object, two: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two)
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return False
    return bool(one == two)
