"""A test set in a check: every sample is judged, and a few of them are examined in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.verdict import Claim, Outcome, claims_of
from isomorph.core.divergence import Verdict
from isomorph.match.axis_layout import moves_channels
from isomorph.measure.dataset import DatasetResult, measure
from isomorph.measure.model_functions import Feeds, Sides, outputs_on
from isomorph.measure.output_order import unordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.checking.log import CheckLog
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.dataset_summary import OverSamples
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.core.trace import Arrays
    from isomorph.inputs.data_sets import DataSet
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.compare import Comparison, Terms
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


def pair_functions(prepared: PreparedPair) -> Sides:
    """Both models as functions of a sample; layouts are determined once for each shape."""
    reference, candidate = prepared.reference, prepared.candidate
    known: dict[tuple[tuple[int, ...], ...], tuple[Layout, ...]] = {}

    def feeds(sample: Sample) -> tuple[Feeds, Feeds]:
        given = reference.real(sample.feeds)
        evaluated = prepared.evaluated(reference, given)
        shapes = tuple(np.shape(given[pair.reference]) for pair in prepared.inputs)
        if shapes not in known:
            known[shapes] = prepared.layouts(evaluated)
        return given, prepared.arrange(evaluated, known[shapes]).feeds

    def ref(sample: Sample) -> Arrays:
        return outputs_on(reference, reference.run(), sample.feeds)

    def cand(sample: Sample) -> Arrays:
        return outputs_on(candidate, candidate.run(), feeds(sample)[1])

    def moved() -> bool:
        return any(moves_channels(one.rearrangement) for each in known.values() for one in each)

    return Sides(
        both=(ref, cand),
        unordered=unordered(reference.model, candidate.model),
        feeds=feeds,
        moved=moved,
    )


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
