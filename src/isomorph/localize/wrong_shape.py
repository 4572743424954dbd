"""Nodes that read the same tensors as the reference's node and compute another shape.

The values may all be right, or equal an earlier tensor, so that the tensor looks right and the next
node that depends on its shape looks wrong. The node that changed the shape is tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.ops import RESHAPES
from isomorph.localize.substitution import Substitution, unreshaped

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search


def resized(
    search: Search, wrong: Sequence[str], *, by_chance: bool = False
) -> Iterator[Iterator[Substitution]]:
    """Yield, node by node in graph order, the reference's tensor in its own shape.

    A tensor that the reference has in the same shape as well is likely to be right: it is another
    one only ``by_chance``, and comes by itself.
    """
    topology = search.candidate.topology
    above = {name for each in wrong for name in topology.above(each)} | set(wrong)
    for node in search.candidate.graph.nodes:
        made = [name for name in node.outputs if name in above and name not in search.given]
        if any(name in search.values for name in made):
            yield (each for name in made for each in _proposals(search, node, name, by_chance))


def _proposals(
    search: Search,
    node: Node,
    tensor: str,
    by_chance: bool,  # noqa: FBT001
) -> Iterator[Substitution]:
    value, references = search.values.get(tensor), search.reference.values
    pairs = list(search.matcher.pairs(tensor, value)) if value is not None else []
    there = any(value is not None and references[ref].shape == value.shape for ref, _ in pairs)
    if there is not by_chance:
        return
    if search.matcher.same_axes:  # of other operators too: a concatenation may have lost an axis
        for ref, way in pairs:
            shape = references[ref].shape
            if shape != search.values[tensor].shape and not moves_axes(way.permutation, shape):
                yield unreshaped(search.reference, tensor, ref)
    place = node.outputs.index(tensor)
    for other in _same_reading(search, node):
        ref = other.outputs[place] if place < len(other.outputs) else ""
        if ref not in references or not _in_another_shape(search, tensor, ref):
            continue
        moved = _only_moved(search, tensor, ref)
        if not moved or search.matcher.same_axes:  # frameworks may order axes differently
            yield replace(unreshaped(search.reference, tensor, ref), permuted=moved)


def _same_reading(search: Search, node: Node) -> Iterator[Node]:
    """Yield the reference's nodes of this kind that read the same tensors at the same inputs."""
    topology = search.candidate.topology
    live = [(place, name) for place, name in enumerate(node.inputs) if name in topology.live]
    if not live or node.bodies or any(name not in search.values for _, name in live):
        return
    read = [(place, _same_values(search, name)) for place, name in live]
    for other in search.reference.graph.nodes:
        same_kind = other.op == node.op or (other.op in RESHAPES and node.op in RESHAPES)
        if same_kind and all(
            place < len(other.inputs) and other.inputs[place] in names for place, names in read
        ):
            yield other


def _same_values(search: Search, name: str) -> set[str]:
    """Return the reference's tensors with the values of this one and the same order of axes."""
    return {
        ref
        for ref, moved in search.matcher.pairs(name, search.values[name])
        if _same_sizes(search, name, ref)
        and not moves_axes(moved.permutation, search.reference.values[ref].shape)
    }


def _same_sizes(search: Search, name: str, ref: str) -> bool:
    """Whether the shapes agree; between frameworks axes of size one may differ."""
    shapes = search.reference.values[ref].shape, search.values[name].shape
    return not search.matcher.same_axes or shapes[0] == shapes[1]


def _in_another_shape(search: Search, tensor: str, ref: str) -> bool:
    value, right = search.values.get(tensor), search.reference.values[ref]
    if value is None or value.dtype.kind != right.dtype.kind:
        return False
    if search.matcher.same_axes:
        return value.shape != right.shape
    # Each framework has sizes and indices with or without an axis of one.
    return spelled_out(value.shape) != spelled_out(right.shape)


def _only_moved(search: Search, tensor: str, ref: str) -> bool:
    """Whether it is the reference's tensor with permuted axes."""
    moved = search.matcher.arranged(ref, tensor, search.values[tensor])
    shape = search.reference.values[ref].shape
    return moved is not None and moves_axes(moved.permutation, shape)


def spelled_out(shape: Sequence[int]) -> list[int]:
    """Return the sizes of a shape without axes of size one."""
    return [size for size in shape if size != 1]


def moves_axes(permutation: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether axes of more than one element are permuted."""
    visible = [axis for axis in permutation if shape[axis] != 1]
    return visible != sorted(visible)
