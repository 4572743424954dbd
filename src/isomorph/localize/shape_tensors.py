"""Tensors that hold sizes: some frameworks have nodes for them, others none.

Where the reference has no such tensor, those of the candidate are not wrong by themselves: a wrong
size shows in the shape of what is computed with it. Treated as wrong, they would pull half of the
graph into one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.measure.precision import OF_SHAPES
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search
    from isomorph.match.tensor_capture import TensorCapture


def extra_size_tensors(search: Search) -> set[str]:
    """Return unmatched size tensors of the candidate if the reference has none unmatched."""
    unmatched = {
        search.reference.values[name].size
        for name in _sizes(search.reference)
        if name not in search.seen
    }
    return {
        name
        for name in _sizes(search.candidate)
        if search.pairs.get(name) is None and search.values[name].size not in unmatched
    }


def reads_sizes(capture: TensorCapture, node: Node) -> bool:
    """Whether a node reads the sizes of its input alone, whatever its values are."""
    readers = operator_tables(capture.graph.framework).shape_readers
    return node.op in OF_SHAPES or node.native_op.startswith(readers)


def _sizes(capture: TensorCapture) -> list[str]:
    """Return integer tensors that depend only on the shapes of the inputs."""
    topology = capture.topology
    of_values = {spec.name for spec in capture.graph.inputs}
    for node in capture.graph.nodes:
        if not reads_sizes(capture, node) and not of_values.isdisjoint(topology.reads(node)):
            of_values.update(node.outputs)
    return [
        name
        for name in capture.names
        if name not in of_values
        and name in capture.values
        and capture.values[name].dtype.kind in "iu"
    ]
