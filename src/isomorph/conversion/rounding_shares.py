"""The part of the loss of a narrow model that the rounding of each node causes.

In the float64 oracle, the constants of one node and its results are rounded, everything else
stays as it is, and the error of the outputs is read off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.rounding import largest
from isomorph.core.conversion_limits import ROUNDED_NODES
from isomorph.core.errors import IsomorphError
from isomorph.oracle.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array


def rounding_shares(
    graph: Graph, session: Session, samples: Sequence[Mapping[str, Array]], dtype: str
) -> dict[str, float]:
    """The share of each node in the sum of all squared errors; nothing where none has any."""
    outputs = [spec.name for spec in graph.outputs if spec.dtype is None or is_float(spec.dtype)]
    nodes = list(ROUNDED_NODES.first(_largest_first(graph)))
    errors = dict.fromkeys((node.name for node in nodes), 0.0)
    for feeds in samples:
        right = session.run(feeds, outputs)
        for node in nodes:
            narrow = partial(rounded, dtype=dtype)
            found = _with_rounded_node(graph, session, feeds, node, narrow)
            errors[node.name] += sum(
                _squared_error(np.asarray(right[name]), np.asarray(value))
                for name, value in found.items()
            )
    total = sum(errors.values())
    return {name: error / total for name, error in errors.items()} if total else {}


def _largest_first(graph: Graph) -> list[Node]:
    """The nodes that make real numbers, those with the largest tensors first."""

    def size(node: Node) -> int:
        shapes = [graph.constants[name].shape for name in node.inputs if name in graph.constants]
        return max((int(np.prod(shape)) for shape in shapes), default=0)

    return sorted((node for node in graph.nodes if _real(graph, node)), key=lambda n: -size(n))


def _real(graph: Graph, node: Node) -> list[str]:
    declared = {name: graph.declared_dtype(name) for name in node.outputs if name}
    return [name for name, dtype in declared.items() if dtype is None or is_float(dtype)]


def _with_rounded_node(
    graph: Graph,
    session: Session,
    feeds: Mapping[str, Array],
    node: Node,
    narrow: Callable[[Array], Array],
) -> Mapping[str, object]:
    """The real outputs with one node rounded; none where the node cannot be run so."""
    outputs = [spec.name for spec in graph.outputs if spec.dtype is None or is_float(spec.dtype)]
    stored = [name for name in node.inputs
              if name in graph.constants and is_float(graph.constants[name].dtype)]  # fmt: skip
    try:
        constants = session.run({}, stored) if stored else {}
        given = {name: narrow(np.asarray(value)) for name, value in constants.items()}
        made = session.run({**feeds, **given}, _real(graph, node))
        results = {
            name: narrow(np.asarray(value))
            for name, value in made.items()
            if np.asarray(value).dtype.kind == "f"
        }
        return session.run({**feeds, **results}, outputs)
    except (IsomorphError, ValueError):
        return {}


def rounded(value: Array, dtype: str) -> Array:
    """The numbers as a type stores them, in float64; those beyond it as its largest ones.

    Overflow is found by itself: here it must not hide what rounding does.
    """
    most = largest(dtype)
    wide = np.asarray(value, np.float64)
    inside = np.where(np.isfinite(wide), np.clip(wide, -most, most), wide)
    return np.asarray(inside.astype(numpy_dtype(dtype)), np.float64)


def _squared_error(right: Array, found: Array) -> float:
    """The squared relative error; 0 where it is no number."""
    wide = np.asarray(right, np.float64)
    size = float(np.linalg.norm(wide)) or 1.0
    gap = float(np.linalg.norm(wide - np.asarray(found, np.float64))) / size
    return gap * gap if np.isfinite(gap) else 0.0
