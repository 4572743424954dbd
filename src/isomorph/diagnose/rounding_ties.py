"""Two models that differ only in how they round values half-way between whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext
from isomorph.core.messages import message
from isomorph.core.report import Fact

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


_MOVED = {"Floor": ("Add", 0.5), "Ceil": ("Sub", 0.5)}
"""What rounds to the nearest whole number once a half was added to it or taken off."""


def ties(context: FaultContext) -> Diagnosis | None:
    """How each side rounds a half, where nothing but halves is rounded otherwise."""
    quantizers = [node for node in context.nodes if node.op == "QuantizeLinear"]
    places = [*rounding_places(context), *((node, node.inputs[0]) for node in quantizers)]
    for node, source in places:
        step = _step(context, node)
        values = context.value(context.candidate, source)
        if step is None or values is None or values.shape != context.right.shape:
            continue
        whole = values.astype(np.float64) / step
        cand, ref = (_way(whole, each, step) for each in (_rounded(context, node), context.right))
        if cand is not None and ref is not None and cand != ref:
            halves = int(np.count_nonzero(_rounded(context, node) != context.right))
            return _tie_diagnosis(cand, ref, halves)
    return None


def rounding_places(context: FaultContext) -> Iterator[tuple[Node, str]]:
    """The nodes here that round to the nearest whole number, and what they round."""
    maker = {name: node for node in context.candidate.nodes for name in node.outputs}
    own = {node.name for node in context.nodes}
    made = {name for node in context.nodes for name in node.outputs}
    # Where a half is added, that sum is the first tensor without a counterpart.
    behind = [n for n in context.candidate.nodes if n.op in _MOVED and n.inputs[0] in made]
    for node in (*context.nodes, *(n for n in behind if n.name not in own)):
        if node.op == "Round":
            yield node, node.inputs[0]
        op, amount = _MOVED.get(node.op, ("", 0.0))
        before = maker.get(node.inputs[0]) if op else None
        if before is None or before.op not in {"Add", "Sub"}:
            continue
        for place, name in enumerate(before.inputs):
            constant = context.candidate.constants.get(name)
            number = constant.values[0] if constant is not None and constant.values else None
            expected = amount if before.op == op else -amount
            if constant is not None and len(constant.values or ()) == 1 and number == expected:
                yield node, before.inputs[1 - place]


def _rounded(context: FaultContext, node: Node) -> Array:
    """What the node makes: the wrong tensor itself, or what it makes of it right behind it."""
    if node.op not in _MOVED or any(each.name == node.name for each in context.nodes):
        return context.wrong
    wrong = context.wrong.astype(np.float64)
    return np.floor(wrong) if node.op == "Floor" else np.ceil(wrong)


def _step(context: FaultContext, node: Node) -> float | None:
    if node.op != "QuantizeLinear":
        return 1.0
    # TFLite keeps the grid beside the tensor, not as an input of the node that puts values on it.
    scale = context.constant(context.candidate, node.inputs[1]) if len(node.inputs) > 1 else None
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


def _tie_diagnosis(cand: str, ref: str, halves: int) -> Diagnosis:
    return Diagnosis(
        cause="quantization",
        certainty=Certainty.CONFIRMED,
        summary=message("quantization.ties", halves=halves, now=cand, right=ref),
        evidence={"ties": cand, Fact.REFERENCE_TIES: ref, "halves": halves},
        experiments=(experiment("quantization.halves", now=cand, right=ref),),
        fix=message("FIX.ties", way=ref),
    )
