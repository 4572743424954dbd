"""The checks of one model: against recorded outputs, and against its own oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.checking.collect import Collectors
from isomorph.checking.compare import (
    comparison_terms,
    single_model_reasons,
)
from isomorph.checking.dataset import judge_test_set
from isomorph.checking.io_dequantize import dequantize_outputs
from isomorph.checking.report import final_report, logged_check
from isomorph.checking.run_time_loss import run_time_loss_alone
from isomorph.checking.sample_phases import (
    add_comparison,
    add_failures,
    collect_sample,
    collect_test_set,
    evaluate_model,
    is_deterministic,
    locate_once,
    names_of,
)
from isomorph.checking.verdict import Outcome
from isomorph.inputs.generated_samples import generated_samples
from isomorph.match.binding import bind_outputs, check_budget_names, check_layout_names
from isomorph.measure import findings as output_findings
from isomorph.measure.compare import Comparison, compare
from isomorph.measure.first_bad_tensor import first_bad_tensors
from isomorph.measure.model_functions import alone
from isomorph.measure.recorded_reference import Recording
from isomorph.measure.screening import screened

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.report import Binding, Report
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


def check_recorded(
    recording: Recording, candidate: ModelHandle, given: Sample | None, options: CheckConfig
) -> Report:
    """Whether a model computes outputs that were recorded elsewhere."""
    with logged_check(options, candidate) as log:
        specs = recording.specs_for(candidate.model.graph)
        candidate, changes = dequantize_outputs(specs, candidate, options.bind_outputs)
        graph = candidate.model.graph
        outputs = bind_outputs(specs, graph.outputs, options.bind_outputs)
        check_budget_names(options.budgets, outputs)
        check_layout_names(options.layouts, graph.outputs)
        # The framework that made the values is unknown; most put channels first.
        terms = comparison_terms(
            options, channels=candidate.model.channels_last, layouts_of=names_of(graph.outputs)
        )
        signature = output_findings.of_signature("output", specs, graph.outputs, outputs)
        log.add(Outcome(findings=(*(each.finding for each in changes), *signature)))
        log.expect(specs, outputs, interface=False)
        samples = [given] if given is not None else _generated(candidate, options)
        for sample in log.each_sample(samples[:1]):
            cand = evaluate_model(log, candidate, sample.feeds)
            if is_deterministic(log, cand):
                comparison = compare(recording.comparand(cand), cand, outputs, terms)
                add_comparison(log, comparison, outputs)
            add_failures(log, sample, cand)
        collectors = Collectors.of(options)
        return final_report(log, collectors, (candidate,), (), outputs, recording=recording)


def check_alone(candidate: ModelHandle, given: Sample | None, options: CheckConfig) -> Report:
    """Whether the run of one model agrees with its own oracle, and where it first does not."""
    with logged_check(options, candidate) as log:
        graph, collectors = candidate.model.graph, Collectors.of(options)
        outputs = bind_outputs(graph.outputs, graph.outputs, {})
        check_budget_names(options.budgets, outputs)
        terms = comparison_terms(options)
        log.expect(graph.outputs, outputs)
        if options.data is not None:

            def judge(sample: Sample, bindings: Sequence[Binding]) -> Comparison:
                model = evaluate_model(log, candidate, sample.feeds)
                return screened(Recording.of_oracle(model), model, bindings, terms)

            result = judge_test_set(
                log, alone(candidate), graph.inputs, outputs, judge=judge, terms=lambda: terms
            )
            collect_test_set(collectors, result)
            samples = result.examined
        else:
            samples = [given] if given is not None else _generated(candidate, options)
        located = False
        for sample in log.each_sample(samples):
            model = evaluate_model(log, candidate, sample.feeds)
            if is_deterministic(log, model):
                comparison = compare(Recording.of_oracle(model), model, outputs, terms)
                if not options.budgets:
                    comparison = single_model_reasons(comparison)
                add_comparison(log, comparison, outputs)
                sides = model, model
                located = locate_once(log, collectors, sides, comparison, terms, done=located)
                if not options.quick:
                    bad = first_bad_tensors(model, terms.false_alarm)
                    log.add(Outcome(findings=tuple(bad)))
                collect_sample(log, collectors, sample, comparison, (None, model))
            add_failures(log, sample, model)
        log.add(run_time_loss_alone(graph))
        return final_report(log, collectors, (candidate,), (), outputs)


def _generated(candidate: ModelHandle, options: CheckConfig) -> list[Sample]:
    graph = candidate.model.graph
    samples = generated_samples(candidate, graph, (), options.dims, options.seed)
    return samples[:1] if options.quick else samples
