"""Whether two graphs decide alike: the same labels, steps and comparisons in float64.

Rounding may move a value that jumps (Floor, TopK, a comparison), and then either side of the jump
is right. Where both oracles decide every such value alike, no jump explains a difference of their
outputs: what is left is judged by the noise around the jumps alone.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.precision import jumping_nodes, jumps, quantized

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.measure.comparand import Comparand


def decide_alike(reference: Comparand, candidate: Comparand) -> bool:
    """Whether every node that decides has a counterpart with equal results; False if unknown."""
    if not (isinstance(reference, EvaluatedModel) and isinstance(candidate, EvaluatedModel)):
        return False
    left = _decisions(reference)
    return left is not None and left == _decisions(candidate)


def _decisions(evaluated: EvaluatedModel) -> Counter[str] | None:
    """Return the digests of all results of nodes that decide; None where some are not known."""
    graph = evaluated.model.graph
    bodies = [body for node in graph.nodes for body in node.bodies.values()]
    # A step of a quantizer hides in the numbers that it returns, and so does one in a body.
    if quantized(graph) or any(map(_decides_inside, bodies)) or evaluated.taken:
        return None
    names = [name for node in jumping_nodes(graph) if not node.bodies for name in node.outputs]
    session = evaluated.oracle()
    if session.capabilities.fetch != "all":
        return None
    try:
        results = session.run(evaluated.feeds, list(dict.fromkeys(filter(None, names))))
    except IsomorphError:
        return None
    found: Counter[str] = Counter()
    for node in jumping_nodes(graph):
        values = [results[name] for name in node.outputs if name and not node.bodies]
        known = [value for value in values if isinstance(value, np.ndarray)]
        if len(known) < len(values) or not all(value.dtype.kind in "biuf" for value in known):
            return None
        # Of a node that returns indices and numbers, the indices are the decision.
        whole = [value for value in known if value.dtype.kind != "f"]
        found.update(_digest(value) for value in whole or known)
    return found


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
