"""How far the values of a run are from the largest number of a float type, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.measured import MeasuredRanges
from isomorph.bounds.rounding import largest, overflow_begins
from isomorph.oracle.dtypes import is_float

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array


def headroom(magnitude: float, dtype: str) -> float:
    """The powers of two between a number and the largest one of a type; negative beyond it."""
    if not magnitude:
        return math.inf
    return math.log2(largest(dtype)) - math.log2(magnitude)


def measured_extremes(
    graph: Graph, session: Session, samples: Iterable[Mapping[str, Array]]
) -> dict[str, float]:
    """The number of every real tensor that is farthest from zero on these inputs, in file order.

    Numbers that float64 cannot hold, or that are none, are left out.
    """
    names = [spec.name for spec in graph.inputs if is_float(spec.dtype)]
    for node in graph.nodes:
        names += [name for name in node.outputs if name and _may_be_real(graph, name)]
    feeds = [(each, "") for each in samples]
    measured = MeasuredRanges(
        session=session, names=names, bytes_each=_bytes(session, names, feeds)
    )
    measured.measure(feeds)
    return {
        name: max(measured.lower[name], measured.upper[name], key=abs)
        for name in names
        if name in measured.lower
    }


def stored_extremes(graph: Graph, session: Session) -> dict[str, float]:
    """The finite number of every real constant that is farthest from zero."""
    found = {}
    for name, constant in graph.constants.items():
        if not is_float(constant.dtype):
            continue
        value = np.asarray(session.run({}, [name])[name], np.float64)
        finite = value[np.isfinite(value)]
        if finite.size:
            found[name] = max(float(finite.min()), float(finite.max()), key=abs)
    return found


def beyond(extremes: Mapping[str, float], dtype: str) -> dict[str, float]:
    """Those that become infinite in a type."""
    begins = overflow_begins(dtype)
    return {name: value for name, value in extremes.items() if abs(value) >= begins}


def _may_be_real(graph: Graph, name: str) -> bool:
    declared = graph.declared_dtype(name)
    return declared is None or is_float(declared)


def _bytes(
    session: Session, names: Sequence[str], samples: Sequence[tuple[Mapping[str, Array], str]]
) -> int:
    """The size of these tensors of the first input."""
    if not samples:
        return 0
    values = session.run(samples[0][0], list(names)).values()
    return sum(np.asarray(value).size * 8 for value in values)
