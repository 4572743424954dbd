"""Outputs that are wrong because numbers grew beyond the type that the candidate declares.

Oracles compute in float64, where nothing is infinite, and outputs are returned in their declared
type. So the graphs agree up to noise, and an output does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.localize.fault_search import Search

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.value_match import ValueMatcher


def first_beyond_type(matcher: ValueMatcher, outputs: Sequence[tuple[str, str]]) -> Finding | None:
    """Return the first node whose numbers leave float16 on the way to these wrong outputs.

    None where an output differs in float64 as well, or none of them leaves its type.
    """
    capture = matcher.candidate
    narrow = {name for name, spec in capture.graph.tensors.items() if spec.dtype == "float16"}
    left = [cand for _, cand in outputs if cand in narrow and _leaves(capture.values.get(cand))]
    if not left or Search(matcher, outputs, {}).wrong_outputs():
        return None
    before = set(left).union(*(capture.topology.above(name, until=()) for name in left))
    for node in capture.graph.nodes:
        for name in narrow.intersection(node.outputs, before, capture.values):
            if _leaves(capture.values[name]):
                return _finding(node, name, capture.values[name])
    return None


def _leaves(value: Array | None) -> bool:
    """Whether numbers are finite here and infinite in float16."""
    if value is None or value.dtype.kind != "f":
        return False
    with np.errstate(over="ignore"):
        return bool(np.any(np.isinf(value.astype(np.float16)) & np.isfinite(value)))


def _finding(node: Node, name: str, value: Array) -> Finding:
    finite = np.abs(value[np.isfinite(value)])
    largest, limit = float(np.max(finite)), float(np.finfo(np.float16).max)
    return Finding(
        code="NOT_FINITE",
        cause="precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        node=node.name,
        nodes=(node.name,),
        tensors=(name,),
        source=node.source,
        summary=message(
            "NOT_FINITE.narrow", op=node.op, node=node.name, largest=largest, limit=limit
        ),
        evidence={"largest": largest, "limit": limit, Fact.PATCHABLE: False},
        fix=message("FIX.float32_node"),
    )
