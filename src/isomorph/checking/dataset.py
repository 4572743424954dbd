"""A test set in a check: every sample is judged, and the ledger and the report know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Verdict
from isomorph.match.axis_layout import moves_channels
from isomorph.measure.dataset import Found, measure
from isomorph.measure.model_functions import Feeds, Sides, outputs_on
from isomorph.measure.output_order import unordered

if TYPE_CHECKING:
    from isomorph.checking.prepare import PreparedPair
    from isomorph.checking.state import CheckState
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.core.trace import Arrays
    from isomorph.inputs.data_sets import DataSet
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.input_layout import Layout
    from isomorph.measure.screening import Judge


def judged_samples(
    work: CheckState,
    sides: Sides,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[Binding],
    judge: Judge,
) -> tuple[list[Sample], tuple[Binding, ...]]:
    """Judge all samples; gives those that the full check is made on, and the pairs of outputs."""
    options, data = work.options, work.options.data
    assert data is not None, "a test set is what led here"
    found = measure(
        str(data.location),
        data.samples(inputs, options.dims),
        sides,
        outputs,
        judge,
        false_alarm=work.terms.false_alarm,
        arrangeable=lambda: work.terms.arrangeable,
        metric=options.metric,
        on_progress=options.on_progress,
    )
    left_over = data.skipped()
    found.unjudged.update({each.what: each.why for each in left_over})
    work.worst.chosen_from = found.summary
    work.findings += found.findings
    work.skipped += [*found.skipped, *left_over]
    _account(work, data, found)
    return found.examined, found.outputs


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


def _account(work: CheckState, data: DataSet, found: Found) -> None:
    """Enter all samples but those that are examined, which are entered with their examination."""
    examined = {sample.origin for sample in found.examined}
    rest = {name: why for name, why in found.unjudged.items() if name not in examined}
    judged = {name: each for name, each in found.judged.items() if name not in examined}
    work.accounts.of_test_set(
        data.location.name,
        len(examined) + len(rest) + len(judged),
        {name: each.divergences for name, each in judged.items()},
        rest,
    )
    for name, comparison in judged.items():
        work.keep(comparison.divergences)
        work.worst.note(name, comparison.divergences)
    # Those after a divergence are counted; they lower no verdict any further.
    undecided = [why for name, why in rest.items() if name not in examined]
    if undecided and not _divergent(found):
        work.raise_verdict(Verdict.UNKNOWN, undecided[0])


def _divergent(found: Found) -> bool:
    return any(
        each.verdict is Verdict.DIVERGENT
        for comparison in found.judged.values()
        for each in comparison.divergences
    )
