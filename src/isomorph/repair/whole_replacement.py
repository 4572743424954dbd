"""Patches that together put the reference in the place of the whole candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.ops import KEEPS_NUMBERS
from isomorph.core.patch import AddConstant, AddNode
from isomorph.core.stated_numbers import WHOLE_MODEL_NODES
from isomorph.match.topology import Topology
from isomorph.oracle.dtypes import is_float

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.patch import Patch


def replaces_everything(graph: Graph, patches: Sequence[Patch]) -> bool:
    """Whether no weight of the candidate is left in this graph, which the patches made.

    In a model without weights, whether no node of it is left. That would be no repair: it hands the
    reference back, piece by piece. Weights that are right are read by the nodes put back.
    """
    edits = [edit for patch in patches for edit in patch.edits]
    nodes = {edit.name for edit in edits if isinstance(edit, AddNode)}
    constants = {edit.name for edit in edits if isinstance(edit, AddConstant)}
    if len(nodes) <= WHOLE_MODEL_NODES:
        return False
    weights = {name for node in graph.nodes for name in node.inputs if _is_weight(graph, name)}
    if weights:
        return weights <= constants
    sources = Topology(graph).sources
    return all(
        node.name in nodes or node.op in KEEPS_NUMBERS or not sources(node) for node in graph.nodes
    )


def _is_weight(graph: Graph, name: str) -> bool:
    constant = graph.constants.get(name)
    return constant is not None and is_float(constant.dtype) and math.prod(constant.shape) > 1
