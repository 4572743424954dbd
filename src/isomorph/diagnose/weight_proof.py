"""Whether the wrong weights of one node are all that makes the outputs of two models differ.

A weight that differs from its counterpart by more than one rounding makes another function,
whatever the outputs show. Where the outputs agree as soon as it has the reference's values, the
node that reads it is the faulty one: no tensor inside has to be captured, and no noise drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import threshold
from isomorph.core.cost import phase
from isomorph.core.errors import IsomorphError
from isomorph.core.experiments import experiment
from isomorph.core.messages import message
from isomorph.core.messages.phrases import differing_weight, named_node, percentage
from isomorph.core.messages.statement import Statement
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.diagnose.constant_diff import difference as described
from isomorph.diagnose.folded_constants import with_folded
from isomorph.localize.error_location import describe_error, relative_error
from isomorph.localize.findings import counterpart_of
from isomorph.localize.replaced_weight import corrected_weight, replaced_readers
from isomorph.measure.budget_check import judge
from isomorph.measure.draws_needed import clearly_within
from isomorph.measure.noise_draws import flattened
from isomorph.measure.verdict import ROUNDING
from isomorph.oracle.fingerprint import FLOAT64_ORDER
from isomorph.oracle.sizes import rms, rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.localize.replaced_weight import ReplacedReaders
    from isomorph.localize.weight_findings import ComparedWeights
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.spread import Spread

_MOST_TENSORS = 3


class WeightProof:
    """The experiment that gives weights the reference's values; it is made once, on demand."""

    def __init__(
        self,
        weights: ComparedWeights,
        sides: tuple[EvaluatedModel, EvaluatedModel],
        outputs: Sequence[Binding],
        false_alarm: float,
    ) -> None:
        self._weights, self._sides, self._outputs = weights, sides, outputs
        self._false_alarm = false_alarm

    @property
    def holds(self) -> bool:
        """Whether a finding was proven."""
        return self.finding is not None

    @cached_property
    def finding(self) -> Finding | None:
        """The faulty node and its weight; None unless it is the only one, and explains all."""
        with phase("weights"):
            try:
                differences = self._weights.differences
            except IsomorphError:
                return None  # noted where all weights are compared
        readers = [reader for each in differences for reader in each.weight.readers]
        if len({each.node.name for each in readers}) != 1 or any(each.between for each in readers):
            return None
        if not all(each.certain and each.replaceable for each in differences):
            return None
        with phase("diagnose"), np.errstate(all="ignore"):
            try:
                return self._experiment(differences)
            except (IsomorphError, ValueError):
                return None  # what cannot be replaced is searched for by its values

    def _experiment(self, differences: Sequence[ConstantDifference]) -> Finding | None:
        candidate = self._sides[1]
        replaced: dict[str, Array] = {}
        for each in differences:
            value = corrected_weight(each, candidate)
            if value is None:
                return None
            replaced[each.weight.name] = value
        readers = replaced_readers(candidate, replaced)
        if readers is None or readers.same:
            return None
        share = self._share(readers)
        if share is None:
            return None
        found = max(differences, key=lambda each: each.count)
        stored = self._weights.sides[1].real(found.weight)
        return None if stored is None else _finding(found, stored, readers, self._graphs, share)

    def _share(self, readers: ReplacedReaders) -> float | None:
        """Return the share of the error that right weights remove; None unless they remove all."""
        reference, candidate = self._sides
        expected, actual = reference.oracle_outputs(), candidate.oracle_outputs()
        tail = reference.tail()
        spreads = tail.rounding() if tail is not None else {}
        if isinstance(expected, IsomorphError) or isinstance(actual, IsomorphError):
            return None
        if isinstance(spreads, IsomorphError):
            return None
        names = list(dict.fromkeys(spec.name for spec in self._graphs[1].outputs))
        given = {**candidate.feeds, **readers.after}
        corrected = flattened(candidate.oracle().run(given, names))
        errors = []
        for pair in self._outputs:
            spread = spreads.get(pair.reference)
            values = (
                expected.get(pair.reference),
                actual.get(pair.candidate),
                corrected.get(pair.candidate),
            )
            found = None if spread is None else self._errors(*values, spread)
            if found is None:
                return None
            errors.append(found)
        before, after = (math.hypot(*each) for each in zip(*errors, strict=True))
        return max(0.0, 1.0 - after / before) if 0.0 < before < math.inf else None

    @property
    def _graphs(self) -> tuple[Graph, Graph]:
        reference, candidate = self._sides
        return reference.model.graph, candidate.model.graph

    def _errors(
        self, right: Array | None, wrong: Array | None, corrected: Array | None, spread: Spread
    ) -> tuple[float, float] | None:
        """Return the errors of an output without and with the right weight, in units of its noise.

        None unless it agrees with the right weight. The noise is that of the last nodes of the
        reference alone: a lower bound, to which nothing of a wrong candidate contributes.
        """
        if right is None or wrong is None or corrected is None or spread.deviation is None:
            return None
        if not right.shape == wrong.shape == corrected.shape:
            return None
        term = judge(
            corrected, right, spread, dtype=str(right.dtype), derivation=ROUNDING, stored=False,
            flushed=False, false_alarm=self._false_alarm,
        )  # fmt: skip
        if not clearly_within(term, self._false_alarm):
            return None
        unit = rms(spread.deviation) or 1.0
        return rms_and_peak(right, wrong)[0] / unit, rms_and_peak(right, corrected)[0] / unit


def _differs(constant: str, source: str, text: str, folded: Sequence[Node]) -> str:
    if not folded:
        return differing_weight(constant, source, text)
    return message(
        "weight.computed", constant=constant, computed=with_folded(folded), difference=text
    )


def _finding(
    found: ConstantDifference,
    stored: Array,
    readers: ReplacedReaders,
    graphs: tuple[Graph, Graph],
    share: float,
) -> Finding:
    name, source = found.weight.name, found.reference[0]
    nodes = _readers(graphs[1], [name])
    ref_nodes = _readers(graphs[0], found.reference)
    difference = described(stored, found.expected)
    node, counterpart = nodes[0], ref_nodes[-1] if ref_nodes else None
    where = _where(readers)
    local = max(relative_error(readers.before[each], readers.after[each]) for each in readers.after)
    folded = ref_nodes if found.reference[1:] else ()
    right = with_folded(folded) if folded else repr(source)
    statement = Statement(
        place=named_node(node.op, node.name) + counterpart_of(node, counterpart),
        cause=_differs(name, source, difference.text, folded),
        observed=message("GUILTY_NODE.weight_alone", error=percentage(local)),
    )
    sources = [each.source for each in (*reversed(ref_nodes), node) if each.source is not None]
    tensors = tuple(dict.fromkeys((*filter(None, node.outputs), name)))
    return Finding(
        code="GUILTY_NODE",
        cause=difference.cause,
        causes=(difference.cause,),
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=statement.text,
        statement=statement,
        node=node.name,
        nodes=tuple(each.name for each in nodes),
        tensors=tensors[:_MOST_TENSORS],
        reference_nodes=tuple(each.name for each in ref_nodes),
        source=sources[0] if sources else None,
        local_error=local,
        inherited_error=0.0,
        share=share,
        evidence={
            **({"where": where} if where else {}),
            Fact.CONSTANT: name,
            "reference_constant": source,
            "difference": difference.text,
            "elements": [
                {"index": list(place), "reference": right, "candidate": wrong}
                for place, right, wrong in found.shown
            ],
        },
        experiments=(
            experiment("fault.constant", constant=name, difference=found.text, share=share),
        ),
        fix=message("FIX.give", constant=name, right=right),
    )


def _readers(graph: Graph, constants: Sequence[str]) -> list[Node]:
    return [node for node in graph.nodes if set(constants) & set(node.inputs)]


def _where(readers: ReplacedReaders) -> Mapping[str, object]:
    """Describe the first tensor that the weight makes wrong."""
    for name, right in readers.after.items():
        wrong = readers.before[name]
        order = threshold(right.size) * FLOAT64_ORDER * rms(right)
        if found := describe_error(wrong, right, order):
            return found
    return {}
