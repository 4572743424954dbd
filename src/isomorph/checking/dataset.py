"""A test set in a check: every sample is judged, and a few of them are examined in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.verdict import Claim, Outcome, claims_of
from isomorph.core.divergence import Verdict
from isomorph.match.axis_layout import moves_channels
from isomorph.measure.candidate_float64 import Trust, eligible
from isomorph.measure.dataset import DatasetResult, measure
from isomorph.measure.evaluated_batch import samples_at_once
from isomorph.measure.model_functions import Sides
from isomorph.measure.output_order import unordered
from isomorph.measure.screening import evaluate_by_candidate, evaluate_pairs, screened

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.checking.log import CheckLog
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.dataset_summary import OverSamples
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.inputs.data_sets import DataSet
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.compare import Comparison, Terms
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.input_layout import Layout
    from isomorph.measure.screening import Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSetResult:
    """A judged test set: the samples to examine, and what all of them showed."""

    __test__ = False  # its name makes pytest take it for a test

    examined: list[Sample]
    outputs: tuple[Binding, ...]
    summary: OverSamples
    compared: dict[str, Comparison]
    """The samples that are not examined, each by its name."""
    outcome: Outcome


def judge_test_set(
    log: CheckLog,
    sides: Sides,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[Binding],
    *,
    judge: Judge,
    terms: Callable[[], Terms],
) -> TestSetResult:
    """Judge all samples of the test set, and enter them in the ledger."""
    options, data = log.options, log.options.data
    assert data is not None, "only a check with a test set comes here"
    found = measure(
        str(data.location),
        data.samples(inputs, options.dims),
        sides,
        outputs,
        judge,
        false_alarm=terms().false_alarm,
        arrangeable=lambda: terms().arrangeable,
        metric=options.metric,
        on_progress=options.on_progress,
    )
    left_over = data.skipped()
    found.unjudged.update({each.what: each.why for each in left_over})
    result = _result(log, data, found)
    log.add(Outcome(findings=tuple(found.findings), skipped=(*found.skipped, *left_over)))
    log.add(result.outcome)
    return result


class PairOnSamples:
    """Both models on the samples of a test set, each evaluated once for all that is asked.

    The order of axes of the candidate's inputs is determined once for each shape.
    """

    def __init__(self, prepared: PreparedPair, terms: Callable[[], Terms]) -> None:
        self._prepared, self._terms = prepared, terms
        self._trust = Trust(terms().false_alarm)
        self._judged: dict[str, Comparison] = {}
        self._layouts: dict[tuple[tuple[int, ...], ...], tuple[Layout, ...]] = {}
        self._evaluated: dict[str, tuple[EvaluatedModel, EvaluatedModel]] = {}

    def sides(self) -> Sides:
        """Both models as functions of a sample."""
        prepared = self._prepared
        return Sides(
            both=(
                lambda sample: self.models(sample)[0].nested_runtime_outputs(),
                lambda sample: self.models(sample)[1].nested_runtime_outputs(),
            ),
            unordered=unordered(prepared.reference.model, prepared.candidate.model),
            prepare=self._prepare,
            at_once=lambda sample, most: samples_at_once(self.models(sample), most),
            moved=self._moved,
        )

    def models(self, sample: Sample) -> tuple[EvaluatedModel, EvaluatedModel]:
        """Both models on one sample; kept until another one is asked for that was not prepared."""
        if sample.origin not in self._evaluated:
            self._evaluated = {sample.origin: self._pair(sample)}
        return self._evaluated[sample.origin]

    def _prepare(self, samples: Sequence[Sample]) -> None:
        """Evaluate both models on these samples, with few messages to their workers."""
        self._evaluated = {sample.origin: self._pair(sample) for sample in samples}
        pairs, outputs = list(self._evaluated.values()), self._prepared.outputs
        if not (self._trust.earned and eligible(*pairs[0])):
            evaluate_pairs(pairs, outputs)
            return
        found = evaluate_by_candidate(pairs, outputs, self._terms())
        for name, comparison in zip(self._evaluated, found, strict=True):
            if comparison is not None:
                self._judged[name] = comparison

    def judge(self, sample: Sample, bindings: Sequence[Binding]) -> Comparison:
        """Judge one sample: as it was when it was prepared, or by both models."""
        prepared = self._judged.pop(sample.origin, None)
        if prepared is not None and prepared.bindings == tuple(bindings):
            return prepared
        comparison = screened(*self.models(sample), bindings, self._terms())
        self._trust.add(comparison)
        return comparison

    def _pair(self, sample: Sample) -> tuple[EvaluatedModel, EvaluatedModel]:
        prepared = self._prepared
        given = prepared.reference.real(sample.feeds)
        reference = prepared.evaluated(prepared.reference, given)
        shapes = tuple(np.shape(given[pair.reference]) for pair in prepared.inputs)
        if shapes not in self._layouts:
            self._layouts[shapes] = prepared.layouts(reference)
        arranged = prepared.arrange(reference, self._layouts[shapes])
        return reference, prepared.evaluated(prepared.candidate, arranged.feeds)

    def _moved(self) -> bool:
        layouts = self._layouts.values()
        return any(moves_channels(one.rearrangement) for each in layouts for one in each)


def _result(log: CheckLog, data: DataSet, found: DatasetResult) -> TestSetResult:
    """Enter the samples that are not examined; the others are entered when they are."""
    examined = {sample.origin for sample in found.examined}
    unjudged = {name: why for name, why in found.unjudged.items() if name not in examined}
    compared = {name: each for name, each in found.judged.items() if name not in examined}
    log.ledger.of_test_set(
        data.location.name,
        len(examined) + len(unjudged) + len(compared),
        {name: each.divergences for name, each in compared.items()},
        unjudged,
    )
    divergences = tuple(each for one in compared.values() for each in one.divergences)
    claims = claims_of(divergences)
    # Samples after a divergence are counted as not compared; they change no verdict.
    if unjudged and not _divergent(found):
        claims += (Claim(verdict=Verdict.UNKNOWN, reason=next(iter(unjudged.values()))),)
    return TestSetResult(
        examined=found.examined,
        outputs=found.outputs,
        summary=found.summary,
        compared=compared,
        outcome=Outcome(divergences=divergences, claims=claims),
    )


def _divergent(found: DatasetResult) -> bool:
    return any(
        each.verdict is Verdict.DIVERGENT
        for comparison in found.judged.values()
        for each in comparison.divergences
    )
