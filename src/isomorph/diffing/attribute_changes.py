"""Attributes in which a node and its counterpart differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from isomorph.core.model_diff import ChangeKind, NodeChange
from isomorph.diffing.linked_graph import COMMUTES
from isomorph.diffing.windows import window
from isomorph.match.attributes import (
    in_common_words,
    node_differences,
    same_values,
    shown_values,
)

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

ABSENT = "—"
_OF_AXES = frozenset({"axis", "axes", "perm"})
"""Attributes that count axes, which stand in another order where channels are last."""
_LISTS = frozenset({"strides", "dilations", "kernel_shape", "pads", "perm"})
"""Lists of integers that mean the same in every framework where they have one length."""
_UNSTATED = frozenset({"stash_type", "T", "Tidx", "Tshape", "data_format", "consumed_inputs"})
_SCALED = COMMUTES | {"Sub", "Div", "Pow"}
_NUMBER_NAMES = ("other", "exponent")


def attribute_changes(
    graphs: tuple[Graph, Graph], ref: Node, cand: Node, *, one_framework: bool, one_layout: bool
) -> list[NodeChange]:
    """Return the attributes that differ; between two frameworks those with one meaning in both."""
    found = {
        in_common_words(each.name): (each.expected, each.actual)
        for each in node_differences(cand, ref, graphs, one_framework=one_framework)
    }
    if one_framework and ref.native_op == cand.native_op:
        found |= dict(_one_sided(ref, cand))
    elif not one_framework:
        found |= dict(_lists(ref, cand))
        found |= dict(_windows(ref, cand))
        found |= dict(_numbers(graphs, ref, cand))
    if not one_layout:
        found = {name: values for name, values in found.items() if name not in _OF_AXES}
    return [_change(name, *values) for name, values in found.items()]


def _change(name: str, expected: Any, actual: Any) -> NodeChange:  # noqa: ANN401
    if expected is None or actual is None:
        shown = tuple(ABSENT if v is None else shown_values(v, v)[0] for v in (expected, actual))
    else:
        shown = shown_values(expected, actual)
    return NodeChange(kind=ChangeKind.ATTRIBUTE, name=name, reference=shown[0], candidate=shown[1])


def _one_sided(ref: Node, cand: Node) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name in sorted(ref.attributes.keys() ^ cand.attributes.keys()):
        values = ref.attributes.get(name), cand.attributes.get(name)
        if name not in _UNSTATED and name not in ref.bodies and name not in cand.bodies:
            yield name, values


def _lists(ref: Node, cand: Node) -> Iterator[tuple[str, tuple[Any, Any]]]:
    stated = {in_common_words(name): value for name, value in ref.attributes.items()}
    for name, value in cand.attributes.items():
        word = in_common_words(name)
        if word not in _LISTS or word not in stated:
            continue
        one, other = _integers(stated[word]), _integers(value)
        if one is None or other is None:
            continue
        if word == "pads":
            one, other = _same_length(one, other)
        if len(one) == len(other) and not same_values(one, other):
            yield word, (one, other)


def _windows(ref: Node, cand: Node) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Strides, dilations and pads, however each side spells them."""
    ones, others = window(ref), window(cand)
    for word in ones.keys() & others.keys():
        if len(ones[word]) == len(others[word]) and ones[word] != others[word]:
            yield word, (list(ones[word]), list(others[word]))


def _integers(value: Any) -> list[int] | None:  # noqa: ANN401
    if isinstance(value, (list, tuple)) and value and all(type(each) is int for each in value):
        return list(value)
    return None


def _same_length(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    """Pads of both ends of each axis, where one side states them once for both."""
    if 2 * len(one) == len(other):
        return one + one, other
    if 2 * len(other) == len(one):
        return one, other + other
    return one, other


def _numbers(graphs: tuple[Graph, Graph], ref: Node, cand: Node) -> Iterator[tuple[str, Any]]:
    """The number that an operator applies to a tensor: an attribute here, a constant there."""
    if ref.op not in _SCALED:
        return
    values = [_number(graph, node) for graph, node in zip(graphs, (ref, cand), strict=True)]
    if None not in values and not same_values(*values):
        yield "operand", tuple(values)


def _number(graph: Graph, node: Node) -> float | None:
    for name in _NUMBER_NAMES:
        value = node.attributes.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    for name in node.inputs:
        stored = graph.constants.get(name)
        if stored is not None and stored.values is not None and len(stored.values) == 1:
            value = stored.values[0]
            return None if isinstance(value, (str, bool)) else float(value)
    return None
