"""Whether two graphs decide alike: the same labels, steps and comparisons in float64.

Rounding may move a value that jumps (Floor, TopK, a comparison), and then either side of the jump
is right. Where both oracles decide every such value alike, no jump explains a difference of their
outputs: what is left is judged by the noise around the jumps alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.precision import jumping_nodes, jumps, quantized

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.measure.comparand import Comparand


def decide_alike(reference: Comparand, candidate: Comparand) -> bool:
    """Whether every node that decides has a counterpart with equal results; False if unknown."""
    if not (isinstance(reference, EvaluatedModel) and isinstance(candidate, EvaluatedModel)):
        return False
    left = _decisions(reference)
    return left is not None and left == _decisions(candidate)


def decision_nodes(graph: Graph) -> tuple[Node, ...] | None:
    """Return the nodes of a graph whose results are decisions; None where others may decide."""
    bodies = [body for node in graph.nodes for body in node.bodies.values()]
    # A step of a quantizer hides in the numbers that it returns, and so does one in a body.
    if quantized(graph) or any(map(_decides_inside, bodies)):
        return None
    return tuple(node for node in jumping_nodes(graph) if not node.bodies)


def _decisions(evaluated: EvaluatedModel) -> Counter[str] | None:
    """Return the digests of all results of nodes that decide; None where some are not known."""
    nodes, session = decision_nodes(evaluated.model.graph), evaluated.oracle()
    if nodes is None or evaluated.taken or session.capabilities.fetch != "all":
        return None
    names = dict.fromkeys(name for node in nodes for name in node.outputs if name)
    try:
        results = session.run(evaluated.feeds, list(names))
    except IsomorphError:
        return None
    found: Counter[str] = Counter()
    for node in nodes:
        values = [results[name] for name in node.outputs if name]
        known = [value for value in values if isinstance(value, np.ndarray)]
        if len(known) < len(values) or not all(value.dtype.kind in "biuf" for value in known):
            return None
        found.update(map(_digest, decided(known)))
    return found


def decided(results: Sequence[Array]) -> Sequence[Array]:
    """Return the decision among the results of a node: of indices and numbers, the indices."""
    return [value for value in results if value.dtype.kind != "f"] or results


def _decides_inside(body: Graph) -> bool:
    """Whether a body may make a discrete value of a float; its nodes read tensors from outside."""
    if jumps(body):
        return True
    whole = {
        name
        for name, spec in (*body.tensors.items(), *((spec.name, spec) for spec in body.inputs))
        if spec.dtype and "float" not in spec.dtype
    }
    whole.update(name for name, each in body.constants.items() if "float" not in each.dtype)
    return any(
        any(name in whole for name in node.outputs)
        and not whole.issuperset(filter(None, node.inputs))
        for node in body.nodes
    )


def _digest(value: Array) -> str:
    # -0.0 and 0.0 are one decision.
    whole = np.ascontiguousarray(value, np.float64) + 0.0
    return sha256(repr(whole.shape).encode() + whole.tobytes()).hexdigest()
