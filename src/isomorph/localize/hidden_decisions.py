"""Differences that decisions hide: the same labels from different numbers.

Two models may decide alike on the given inputs (the same largest class, the same steps) and yet
decide on different numbers. Often this is harmless: a softmax was left out before an ArgMax. So
more inputs are tried, until the outputs differ on one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.core.stated_numbers import DECISION_INPUTS, NEAR_DECISIONS
from isomorph.localize.input_search import (
    Carry,
    Trial,
    first_that_differs,
    random_input_count,
    random_inputs,
)
from isomorph.localize.locate import locate
from isomorph.match.attributes import digest
from isomorph.match.topology import Topology
from isomorph.measure.equal_decisions import decided, decision_nodes
from isomorph.measure.precision import lower_precision

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array, Arrays
    from isomorph.measure.compare import Terms
    from isomorph.measure.evaluated_model import EvaluatedModel

_Sides = tuple["EvaluatedModel", "EvaluatedModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenDifference:
    """What the given inputs do not show, and the input and the output that do, if there is one."""

    finding: Finding | None = None
    trial: Trial | None = None
    output: str = ""
    skipped: Skipped | None = None


def hidden_difference(
    sides: _Sides, outputs: Sequence[Binding], terms: Terms, carry: Carry
) -> HiddenDifference:
    """Try more inputs where both models decide alike on different numbers."""
    # A candidate of lower precision decides on other numbers by design.
    lower = lower_precision(*(side.model.graph for side in sides))
    nodes = None if lower else _on_other_numbers(sides)
    # An absolute budget states nothing about inputs that are larger than the given ones.
    if nodes is None or terms.budgets:
        return HiddenDifference()
    count = random_input_count(sides[0], DECISION_INPUTS)
    made = random_inputs(sides[0], count)
    shown = first_that_differs(made, sides, outputs, terms, carry, inside_domain=True)
    if shown is not None:
        pairs = [
            (each.reference_output, each.candidate_output)
            for each in shown.wrong
            if each.reference_output and each.candidate_output
        ]
        return HiddenDifference(
            finding=_finding(nodes, shown.sides, pairs),
            trial=shown.trial,
            output=str(shown.wrong[0].candidate_output),
        )
    right, node = nodes
    return HiddenDifference(
        skipped=not_done("decisions", node=node.name, op=node.op, right=right.name, tried=count)
    )


def _finding(nodes: tuple[Node, Node], sides: _Sides, outputs: list[tuple[str, str]]) -> Finding:
    """Describe the decision, and name the node at which the models differ on the input found."""
    decides = nodes[1]
    try:
        faults = locate(*sides, outputs).chain.faults
    except (IsomorphError, ValueError):
        faults = ()
    named = faults[0].node if faults else decides.name
    place = named_node(decides.op, decides.name)
    text = message("LATENT.decides_alike", place=place, right=nodes[0].name)
    if faults:
        text = message("LATENT.decides_alike_node", place=place, right=nodes[0].name, node=named)
    return Finding(
        rank=0,
        code="LATENT",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.LATENT,
        summary=text,
        node=named,
        nodes=faults[0].nodes if faults else (decides.name,),
        tensors=(faults[0].tensor,) if faults else decides.outputs[:1],
        reference_nodes=faults[0].reference_nodes if faults else (nodes[0].name,),
        source=decides.source,
        evidence={Fact.NUMBERS: digest(nodes[0].name, decides.name)},
    )


def _on_other_numbers(sides: _Sides) -> tuple[Node, Node] | None:
    """Return two nodes of one operator that decide alike on different numbers."""
    seen = [_decided(side) for side in sides]
    if seen[0] is None or seen[1] is None:
        return None
    for node, result, data in seen[1]:
        for other, expected, read in seen[0]:
            if other.op == node.op and _equal(expected, result) and _differ(read, data):
                return other, node
    return None


def _decided(
    side: EvaluatedModel,
) -> list[tuple[Node, list[Array], list[Array]]] | None:
    """Return the nodes that decide, with their results and the numbers that they read."""
    nodes, topology = decision_nodes(side.model.graph), Topology(side.model.graph)
    if not nodes or side.oracle().capabilities.fetch != "all":
        return None
    named = [(node, list(filter(None, node.outputs)), topology.sources(node)) for node in nodes]
    names = dict.fromkeys(name for _, made, read in named for name in (*made, *read))
    try:
        values = side.oracle().run(side.feeds, [each for each in names if each not in side.feeds])
    except (IsomorphError, ValueError):
        return None
    known = {**side.feeds, **values}
    return [
        (node, list(_numbers(made, known)), list(_numbers(read, known)))
        for node, made, read in named
    ]


def _numbers(names: Sequence[str], values: Arrays) -> Iterator[Array]:
    for name in names:
        value = values[name]
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            yield value


def _equal(one: Sequence[Array], two: Sequence[Array]) -> bool:
    """Whether results are equal; of indices and numbers, whether the indices are."""
    left, right = decided(one), decided(two)
    return bool(left) and len(left) == len(right) and all(map(np.array_equal, left, right))


def _differ(one: Sequence[Array], two: Sequence[Array]) -> bool:
    """Whether floats that are read differ by more than rounding would make them."""
    for left, right in zip(one, two, strict=False):
        if left.dtype.kind != "f" or right.dtype.kind != "f" or left.shape != right.shape:
            continue
        with np.errstate(all="ignore"):
            size = np.max(np.abs(left), initial=0.0, where=np.isfinite(left))
            apart = np.abs(left - right)
        if np.max(apart, initial=0.0, where=np.isfinite(apart)) > NEAR_DECISIONS * size:
            return True
    return False
