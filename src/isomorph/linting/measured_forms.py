"""Forms of an operator: what a node shows of itself, and whether a measured row speaks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

DTYPE, RANK, INPUTS = "(dtype)", "(rank)", "(inputs)"
"""Of the first input, and how many there are; no attribute has such a name."""


def features(node: Node, graph: Graph) -> dict[str, Any]:
    """What tells this node from others of its operator, in the values of JSON."""
    told = {name: _plain(value) for name, value in node.attributes.items()}
    first = next((name for name in node.inputs if name), None)
    spec = graph.tensors.get(first or "") or graph.constants.get(first or "")
    if spec is not None and spec.dtype is not None:
        told[DTYPE] = spec.dtype
    if spec is not None and spec.shape is not None:
        told[RANK] = len(spec.shape)
    return {**told, INPUTS: sum(bool(name) for name in node.inputs)}


def speaks_of(when: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Whether a node that shows this is one of those that a row speaks of.

    What is not known of the node excludes nothing: it may be such a one.
    """
    return all(shown.get(name, value) == value for name, value in when.items())


def _plain(value: Any) -> Any:  # noqa: ANN401 - attributes hold anything
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (str, bool, int, float)) or value is None else str(value)
