"""Forms of an operator: the features of a node, and whether a measured row applies to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

DTYPE, RANK, INPUTS = "(dtype)", "(rank)", "(inputs)"
"""Of the first input, and how many there are; no attribute has such a name."""


def features(node: Node, graph: Graph) -> dict[str, Any]:
    """What distinguishes this node from others of its operator, as JSON values."""
    found = {name: _plain(value) for name, value in node.attributes.items()}
    first = next((name for name in node.inputs if name), None)
    spec = graph.tensors.get(first or "") or graph.constants.get(first or "")
    if spec is not None and spec.dtype is not None:
        found[DTYPE] = spec.dtype
    if spec is not None and spec.shape is not None:
        found[RANK] = len(spec.shape)
    return {**found, INPUTS: sum(bool(name) for name in node.inputs)}


def applies_to(when: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Whether a row with the condition ``when`` applies to a node with the features ``shown``.

    A feature that is unknown excludes nothing.
    """
    return all(shown.get(name, value) == value for name, value in when.items())


def _plain(value: Any) -> Any:  # noqa: ANN401 - attributes hold anything
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if isinstance(value, (str, bool, int, float)) or value is None else str(value)
