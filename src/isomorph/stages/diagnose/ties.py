"""Two sides that round alike but for values exactly half-way between two whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.case import Case, Diagnosis
from isomorph.core.report import Experiment

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_WAYS: Mapping[str, Callable[[Array], Array]] = {
    "to even": np.rint,
    "away from zero": lambda v: np.copysign(np.floor(np.abs(v) + 0.5), v),
    "up": lambda v: np.floor(v + 0.5),
    "down": lambda v: np.ceil(v - 0.5),
    "to zero": lambda v: np.copysign(np.ceil(np.abs(v) - 0.5), v),
}


def ties(case: Case) -> Diagnosis | None:
    """How each side rounds a half, where nothing but halves is rounded otherwise."""
    for node in case.nodes:
        if node.op in {"Round", "QuantizeLinear"}:
            step = _step(case, node)
            values = case.value(case.candidate, node.inputs[0])
            if step is None or values is None or values.shape != case.right.shape:
                continue
            whole = values.astype(np.float64) / step
            mine, theirs = (_way(whole, each, step) for each in (case.wrong, case.right))
            if mine is not None and theirs is not None and mine != theirs:
                halves = int(np.count_nonzero(case.wrong != case.right))
                return _told(mine, theirs, halves)
    return None


def _step(case: Case, node: Node) -> float | None:
    if node.op == "Round":
        return 1.0
    # TFLite keeps the grid beside the tensor, not as an input of the node that puts values on it.
    scale = case.constant(case.candidate, node.inputs[1]) if len(node.inputs) > 1 else None
    return float(scale.reshape(-1)[0]) if scale is not None and scale.size == 1 else None


def _way(whole: Array, result: Array, step: float) -> str | None:
    """The way of rounding that gives this result wherever it was not cut off at an end."""
    if result.shape != whole.shape or result.dtype.kind not in "fiu" or not result.size:
        return None
    found = np.rint(result.astype(np.float64) / step)
    inside = (found > found.min()) & (found < found.max())
    if not np.any(np.abs(whole[inside] % 1.0) == 0.5):
        return None
    for name, way in _WAYS.items():
        if np.array_equal(way(whole[inside]), found[inside]):
            return name
    return None


def _told(mine: str, theirs: str, halves: int) -> Diagnosis:
    return Diagnosis(
        cause="quantization",
        certainty=3,
        summary=f"ties are rounded {mine}, and by the reference {theirs}: {halves} values lie "
        "half-way between two steps",
        evidence={"ties": mine, "reference_ties": theirs, "halves": halves},
        experiments=(
            Experiment(
                question="How does each side round a half?",
                change="the same values are rounded in float64 in every way",
                predicts="the two sides are two of them, and differ at halves alone",
                seen=f"the candidate rounds halves {mine}, the reference {theirs}",
                agrees=True,
            ),
        ),
        fix=f"round halves {theirs}, or choose a scale on whose halves no value lies",
    )
