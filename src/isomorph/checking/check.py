"""The verb: load both models, feed them alike, measure, and say what follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.checking.dataset import judged_samples, pair_functions
from isomorph.checking.io_dequantize import DequantizedPair, dequantize_outputs
from isomorph.checking.options import CheckOptions as CheckOptions  # noqa: PLC0414 - it is used from here
from isomorph.checking.prepare import PreparedPair, prepare_pair
from isomorph.checking.state import CheckState
from isomorph.checking.weights import compare_constants
from isomorph.core.divergence import Verdict
from isomorph.core.model import OutputOrder
from isomorph.core.report import Binding, Report
from isomorph.inputs.feeds import Sample
from isomorph.inputs.generated_samples import made_up
from isomorph.inputs.sample_batching import for_both
from isomorph.match.binding import (
    bind_outputs,
    check_budget_names,
    check_layout_names,
)
from isomorph.measure import findings as say
from isomorph.measure import input_layout
from isomorph.measure.compare import Comparison, compare
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.first_bad_tensor import first_trouble
from isomorph.measure.model_functions import alone
from isomorph.measure.recorded_reference import Recording
from isomorph.measure.screening import screened
from isomorph.sessions.model_handle import ModelHandle

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array


def check_pair(
    reference: ModelHandle, candidate: ModelHandle, given: Sample | None, options: CheckOptions
) -> Report:
    """Two models: the same function?"""
    with CheckState(options, reference, candidate).kept() as work:
        return _pair(work, reference, candidate, given)


def _pair(
    work: CheckState, reference: ModelHandle, candidate: ModelHandle, given: Sample | None
) -> Report:
    options = work.options
    as_stored = reference.model.graph.inputs
    prepared = prepare_pair(reference, candidate, options)
    reference, candidate, met = prepared.reference, prepared.candidate, prepared.interface
    inputs, outputs = prepared.inputs, prepared.outputs
    work.findings += met.findings()
    left, right = reference.model.graph, candidate.model.graph
    check_budget_names(options.budgets, outputs)
    check_layout_names(options.layouts, (*right.inputs, *right.outputs))
    work.arrange(
        channels=reference.model.channels_last != candidate.model.channels_last,
        stated=_names(right.outputs) - _names(right.inputs),
    )
    orders = {reference.model.output_order, candidate.model.output_order}
    work.findings += say.of_signature("input", left.inputs, right.inputs, inputs)
    work.findings += say.of_words(reference.model, candidate.model)
    _judge_outputs(work, met, outputs, orders)
    if options.data is not None:
        sides = pair_functions(prepared)
        taken = for_both(as_stored, right.inputs, inputs)

        def judge(sample: Sample, bindings: Sequence[Binding]) -> Comparison:
            given, carried = sides.feeds(sample)
            work.arrange(channels=sides.moved())
            ref, cand = work.subject(reference, given), work.subject(candidate, carried)
            return screened(ref, cand, bindings, work.terms)

        samples, outputs = judged_samples(work, sides, taken, outputs, judge)
    else:
        samples = _one_or_made_up(prepared, given)
    for sample in work.worthwhile(samples):
        ref = work.subject(reference, reference.real(sample.feeds))
        if work.sized.refused(sample, ref):
            work.accounts.drop()
            continue
        cand = work.subject(candidate, _arranged(work, ref, prepared))
        if work.sized.failed(sample, cand):
            continue
        work.findings += met.clipped_inputs(sample, cand.feeds)
        if work.deterministic(ref, cand):
            comparison = compare(ref, cand, outputs, work.terms)
            comparison = work.looked_into(ref, cand, comparison)
            work.add(comparison, outputs)
            work.sized.note(sample, comparison.divergences)
            outputs = comparison.bindings
            work.locate(ref, cand, comparison)
            work.probe((ref, cand), comparison, lambda fed: _arranged(work, fed, prepared))
            if not sample.sizes:  # what is told of tensors is told at one size
                work.remember(sample, comparison, cand, ref)
        work.failures(ref, cand)
    for finding in work.sized.findings():
        work.add_finding(finding, Verdict.DIVERGENT, "wrong at some sizes of its dynamic axes")
    compare_constants(work, reference, candidate)
    # PyTorch names no outputs: the names of its nodes are nobody's interface.
    named = OutputOrder.UNNAMED not in orders
    work.findings += say.of_signature("output", left.outputs, right.outputs, outputs, named=named)
    return work.report((reference, candidate), inputs, outputs)


def _judge_outputs(
    work: CheckState,
    met: DequantizedPair,
    outputs: Sequence[Binding],
    orders: Collection[OutputOrder],
) -> None:
    """Outputs that are missing, or in another order: wrong without a run."""
    left, right = met.reference.model.graph.outputs, met.candidate.model.graph.outputs
    swapped = say.of_named_order(left, right, outputs)
    # The outputs of a SavedModel are a dict: whoever calls it asks by name, and no order is lost.
    dicts = {OutputOrder.UNORDERED, OutputOrder.NAMED}
    if swapped is not None and not dicts.intersection(orders):
        work.add_finding(swapped, Verdict.DIVERGENT, "the outputs are in another order")
    work.expect(left, outputs)


def _one_or_made_up(prepared: PreparedPair, given: Sample | None) -> list[Sample]:
    """The user's sample, or generated ones; further sizes unless the user decided on one."""
    samples = [given] if given is not None else prepared.generated_samples()
    if given is None or prepared.options.sizes is not None:
        samples += prepared.samples_of_other_sizes()
    return samples


def _arranged(
    work: CheckState, reference: EvaluatedModel, prepared: PreparedPair
) -> Mapping[str, Array]:
    """The candidate's feeds; the layouts are findings."""
    arranged = prepared.arrange(reference)
    work.findings += input_layout.findings(arranged.layouts)
    work.arrange(channels=arranged.moves_channels)
    return arranged.feeds


def _names(specs: Sequence[TensorSpec]) -> set[str]:
    return {spec.name for spec in specs}


def check_recorded(
    recording: Recording, candidate: ModelHandle, given: Sample | None, options: CheckOptions
) -> Report:
    """A model against outputs that were recorded elsewhere."""
    with CheckState(options, candidate).kept() as work:
        return _recorded(work, recording, candidate, given)


def _recorded(
    work: CheckState, recording: Recording, candidate: ModelHandle, given: Sample | None
) -> Report:
    options = work.options
    specs = recording.beside(candidate.model.graph)
    candidate, changes = dequantize_outputs(specs, candidate, options.bind_outputs)
    work.findings += [change.finding for change in changes]
    graph = candidate.model.graph
    outputs = bind_outputs(specs, graph.outputs, options.bind_outputs)
    check_budget_names(options.budgets, outputs)
    check_layout_names(options.layouts, graph.outputs)
    # Who recorded the values is not known; most frameworks put channels first.
    work.arrange(channels=candidate.model.channels_last, stated=_names(graph.outputs))
    work.findings += say.of_signature("output", specs, graph.outputs, outputs)
    work.expect(specs, outputs, interface=False)
    samples = [given] if given is not None else _generated(candidate, options)
    for sample in work.worthwhile(samples[:1]):
        cand = work.subject(candidate, sample.feeds)
        if work.deterministic(cand):
            comparison = compare(recording.subject(cand), cand, outputs, work.terms)
            work.add(comparison, outputs)
        work.failures(cand)
    return work.report((candidate,), (), outputs, recording=recording)


def check_alone(candidate: ModelHandle, given: Sample | None, options: CheckOptions) -> Report:
    """One model against its own oracle: does its run hold, and where does trouble begin?"""
    with CheckState(options, candidate).kept() as work:
        return _alone(work, candidate, given)


def _alone(work: CheckState, candidate: ModelHandle, given: Sample | None) -> Report:
    options = work.options
    graph = candidate.model.graph
    outputs = bind_outputs(graph.outputs, graph.outputs, {})
    check_budget_names(options.budgets, outputs)
    work.expect(graph.outputs, outputs)
    if options.data is not None:

        def judge(sample: Sample, bindings: Sequence[Binding]) -> Comparison:
            subject = work.subject(candidate, sample.feeds)
            return screened(Recording.of_meaning(subject), subject, bindings, work.terms)

        sides = alone(candidate)
        samples, _ = judged_samples(work, sides, graph.inputs, outputs, judge)
    else:
        samples = [given] if given is not None else _generated(candidate, options)
    for sample in work.worthwhile(samples):
        subject = work.subject(candidate, sample.feeds)
        if work.deterministic(subject):
            comparison = compare(Recording.of_meaning(subject), subject, outputs, work.terms)
            if not options.budgets:
                comparison = _of_one(comparison)
            work.add(comparison, outputs)
            work.locate(subject, subject, comparison)
            work.findings += first_trouble(subject, work.terms.false_alarm)
            work.remember(sample, comparison, subject, None)
        work.failures(subject)
    return work.report((candidate,), (), outputs)


def _of_one(comparison: Comparison) -> Comparison:
    """The reasons in the words of one model: there is no other whose function it could be."""
    return replace(
        comparison,
        divergences=tuple(
            replace(each, reason="the run is what the model says, within rounding")
            if each.verdict is Verdict.EQUIVALENT and each.observed is not None
            else each
            for each in comparison.divergences
        ),
    )


def _generated(candidate: ModelHandle, options: CheckOptions) -> list[Sample]:
    return made_up(candidate, candidate.model.graph, (), options.dims, options.seed)
