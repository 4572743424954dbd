"""Nodes that read what the reference's node reads and make a tensor of another shape.

The values may all be there, or be those of an earlier tensor, so that the tensor looks right and
the next node that minds its shape looks wrong. The node that changed the shape is tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.ops import RESHAPES
from isomorph.localize.substitution import Substitution, as_it_is

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search


def resized(search: Search, wrong: Sequence[str]) -> Iterator[Iterator[Substitution]]:
    """Node by node in the order of the graph, the reference's tensor in its own shape."""
    topology = search.candidate.topology
    above = {name for each in wrong for name in topology.above(each)} | set(wrong)
    for node in search.candidate.graph.nodes:
        made = [name for name in node.outputs if name in above and name not in search.given]
        if any(name in search.values for name in made):
            yield (each for name in made for each in _proposals(search, node, name))


def _proposals(search: Search, node: Node, tensor: str) -> Iterator[Substitution]:
    if search.matcher.same_axes:  # of another operator, too: what was joined may have lost an axis
        for twin, way in search.matcher.pairs(tensor, search.values[tensor]):
            shape = search.reference.values[twin].shape
            if shape != search.values[tensor].shape and not moves_axes(way.permutation, shape):
                yield as_it_is(search.reference, tensor, twin)
    place = node.outputs.index(tensor)
    for other in _same_reading(search, node):
        mine = other.outputs[place] if place < len(other.outputs) else ""
        if mine not in search.reference.values or not _in_another_shape(search, tensor, mine):
            continue
        moved = _only_moved(search, tensor, mine)
        if not moved or search.matcher.same_axes:  # between frameworks axes may stand otherwise
            yield replace(as_it_is(search.reference, tensor, mine), permuted=moved)


def _same_reading(search: Search, node: Node) -> Iterator[Node]:
    """The reference's nodes of this kind that read the same tensors in the same places."""
    topology = search.candidate.topology
    live = [(place, name) for place, name in enumerate(node.inputs) if name in topology.live]
    if not live or node.bodies or any(name not in search.values for _, name in live):
        return
    held = [(place, _held(search, name)) for place, name in live]
    for other in search.reference.graph.nodes:
        same_kind = other.op == node.op or (other.op in RESHAPES and node.op in RESHAPES)
        if same_kind and all(
            place < len(other.inputs) and other.inputs[place] in names for place, names in held
        ):
            yield other


def _held(search: Search, name: str) -> set[str]:
    """The reference's tensors that hold the values of this one, with their axes in its order."""
    return {
        mine
        for mine, moved in search.matcher.pairs(name, search.values[name])
        if _same_sizes(search, name, mine)
        and not moves_axes(moved.permutation, search.reference.values[mine].shape)
    }


def _same_sizes(search: Search, name: str, mine: str) -> bool:
    """Between frameworks axes of size one come and go; within one they are part of the shape."""
    shapes = search.reference.values[mine].shape, search.values[name].shape
    return not search.matcher.same_axes or shapes[0] == shapes[1]


def _in_another_shape(search: Search, tensor: str, mine: str) -> bool:
    value, right = search.values.get(tensor), search.reference.values[mine]
    return value is not None and value.shape != right.shape and value.dtype.kind == right.dtype.kind


def _only_moved(search: Search, tensor: str, mine: str) -> bool:
    """Whether it is the reference's tensor with its axes in another order."""
    moved = search.matcher.arranged(mine, tensor, search.values[tensor])
    shape = search.reference.values[mine].shape
    return moved is not None and moves_axes(moved.permutation, shape)


def moves_axes(permutation: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether axes of more than one element change places among themselves."""
    visible = [axis for axis in permutation if shape[axis] != 1]
    return visible != sorted(visible)
