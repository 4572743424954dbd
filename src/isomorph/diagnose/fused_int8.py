"""Products between quantizers that a runtime fuses, and then computes on bytes that saturate.

The graph multiplies dequantized numbers, and a run that shows its tensors is right: fetching one
keeps the optimizer from fusing its node. So the whole model is predicted instead. Every product
of dequantized bytes loses in the oracle what saturation takes; if that lands on the run, these
products are what is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import FUSED_PRODUCTS
from isomorph.core.experiments import experiment
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.messages.statement import Statement
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.diagnose.int16_saturation import Grid, taken_away

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel

_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv"})
_READER = "DequantizeLinear"
_BYTES = frozenset({"uint8", "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    node: Node
    moved: int
    size: int


def saturated_products(
    candidate: EvaluatedModel, names: Sequence[str], lands: Callable[[Mapping[str, Array]], bool]
) -> list[Finding]:
    """The products whose saturation explains these outputs of the run; none where it does not.

    ``lands`` returns whether predicted outputs equal those of the run, within its budget.
    """
    found, given = _predicted(candidate)
    if not found:
        return []
    predicted = candidate.oracle().run({**candidate.feeds, **given}, list(names))
    whole = {name: np.asarray(value) for name, value in predicted.items()}
    return [_finding(each, len(found)) for each in found] if lands(whole) else []


def _predicted(candidate: EvaluatedModel) -> tuple[list[_Loss], dict[str, Array]]:
    """The products that saturate, one after the other, and what they give then."""
    found: list[_Loss] = []
    given: dict[str, Array] = {}
    places = list(_places(candidate.model.graph))
    if len(places) > FUSED_PRODUCTS.most:
        FUSED_PRODUCTS.reached()
        return [], {}
    for node, data, weight in places:
        stored = [name for reader in (data, weight) for name in reader.inputs if name]
        seen = candidate.oracle().run({**candidate.feeds, **given}, [*stored, node.outputs[0]])
        values = {name: np.asarray(value) for name, value in seen.items()}
        left, right = _grid(data, values), _grid(weight, values)
        if left.whole.dtype.name not in _BYTES or right.whole.dtype != np.int8:
            continue
        gone = taken_away(node.op, left, right, node.attributes)
        exact = values[node.outputs[0]]
        if gone is not None and gone.shape == exact.shape:
            given[node.outputs[0]] = exact + gone
            moved = int(np.count_nonzero(gone))
            found.append(_Loss(node=node, moved=moved, size=gone.size))
    return found, given


def _places(graph: Graph) -> Iterator[tuple[Node, Node, Node]]:
    """Each product with the nodes that dequantize its data and its stored weight."""
    readers = {node.outputs[0]: node for node in graph.nodes if node.op == _READER}
    for node in graph.nodes:
        if node.op in _PRODUCTS and all(name in readers for name in node.inputs[:2]):
            data, weight = (readers[name] for name in node.inputs[:2])
            stored = graph.constants.get(weight.inputs[0])
            if stored is not None and stored.dtype == "int8":
                yield node, data, weight


def _grid(reader: Node, values: Mapping[str, Array]) -> Grid:
    whole, scale, *zero = (values[name] for name in reader.inputs if name)
    return Grid(whole=whole, scale=scale, zero=zero[0] if zero else None)


def _finding(loss: _Loss, count: int) -> Finding:
    node = loss.node
    many = count > 1
    key = "kernel.fused_saturations" if many else "kernel.fused_saturation"
    statement = Statement(
        place=named_node(node.op, node.name),
        cause=message("kernel.fused_saturation"),
        observed=message("kernel.saturated_places", moved=loss.moved, size=loss.size),
    )
    return Finding(
        code="GUILTY_NODE",
        cause="kernel",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=statement.text,
        statement=statement,
        node=node.name,
        nodes=(node.name,),
        tensors=node.outputs[:1],
        evidence={"operator": node.native_op, Fact.SATURATED_SUMS: loss.moved},
        experiments=(experiment(key, count=count),),
        fix=message("FIX.seven_bits"),
    )
