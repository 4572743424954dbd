"""How far the values of a run are from the largest number of a float type, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.measured import MeasuredRanges
from isomorph.bounds.rounding import largest, overflow_begins
from isomorph.core.chance import student
from isomorph.core.stated_numbers import FURTHER_OVERFLOW
from isomorph.oracle.dtypes import is_float

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array

LEAST_INPUTS = 3
"""Inputs from which on their spread is estimated."""

_LARGEST_LOG = math.log(np.finfo(np.float64).max)


def headroom(magnitude: float, dtype: str) -> float:
    """The powers of two between a number and the largest one of a type; negative beyond it."""
    if not magnitude:
        return math.inf
    return math.log2(largest(dtype)) - math.log2(magnitude)


def measured_extremes(
    graph: Graph, session: Session, samples: Iterable[Mapping[str, Array]]
) -> dict[str, float]:
    """The number of every real tensor that is farthest from zero on these inputs, in file order."""
    return {
        name: max(values, key=abs)
        for name, values in sample_extremes(graph, session, samples).items()
    }


def sample_extremes(
    graph: Graph, session: Session, samples: Iterable[Mapping[str, Array]]
) -> dict[str, list[float]]:
    """The number of every real tensor that is farthest from zero, on each of these inputs.

    Numbers that float64 cannot hold, or that are none, are left out.
    """
    names = [spec.name for spec in graph.inputs if is_float(spec.dtype)]
    for node in graph.nodes:
        names += [name for name in node.outputs if name and _may_be_real(graph, name)]
    feeds = [(each, "") for each in samples]
    size = _bytes(session, names, feeds)
    found: dict[str, list[float]] = {}
    for each in feeds:
        measured = MeasuredRanges(session=session, names=names, bytes_each=size)
        measured.measure([each])
        for name in names:
            if name in measured.lower:
                ends = measured.lower[name], measured.upper[name]
                found.setdefault(name, []).append(max(ends, key=abs))
    return found


def further_extreme(extremes: Sequence[float]) -> float:
    """The number that one more input of the same kind exceeds with a small chance.

    The logarithms of the largest numbers of single inputs are taken for a sample of a normal
    distribution: Student's quantile bounds the next one (``FURTHER_OVERFLOW``). Two inputs say
    too little of how they vary; then it is the largest that was seen.
    """
    largest_seen = max(extremes, key=abs, default=0.0)
    logs = np.log([abs(each) for each in extremes if each])
    if logs.size < LEAST_INPUTS:
        return float(largest_seen)
    reach = student(1, logs.size - 1, 2.0 * FURTHER_OVERFLOW) * math.sqrt(1.0 + 1.0 / logs.size)
    log = float(logs.mean() + reach * logs.std(ddof=1))
    return math.copysign(max(math.exp(min(log, _LARGEST_LOG)), abs(largest_seen)), largest_seen)


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
