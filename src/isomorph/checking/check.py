"""The check of two models, phase by phase.

prepare → evaluate → compare → (locate → diagnose) → report. Each phase is a module that takes
values and returns an ``Outcome``; the log adds them up to the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.checking.collect import Collectors
from isomorph.checking.compare import (
    compared_sample,
    comparison_terms,
    declared_order,
    judges_same_weights,
    study_loss,
    with_channels,
    with_doubtful_losses,
)
from isomorph.checking.compared_samples import ComparedSample, EarlierSamples
from isomorph.checking.dataset import PairOnSamples, TestSetResult, judge_test_set
from isomorph.checking.evaluate import (
    evaluate_candidate,
    layout_outcome,
    memory_outcome,
)
from isomorph.checking.locate import confirmed, weight_outcome, weights_decide
from isomorph.checking.never_finite import never_finite, shows_no_number
from isomorph.checking.prepare import PreparedPair, prepare_pair
from isomorph.checking.proof_beside import ProofBeside
from isomorph.checking.report import final_report, logged_check
from isomorph.checking.run_time_loss import optimized_run_loss, run_time_loss
from isomorph.checking.sample_phases import (
    add_comparison,
    add_failures,
    collect_sample,
    collect_test_set,
    evaluate_model,
    is_deterministic,
    locate_once,
    names_of,
    samples_of,
    step_shows_more,
)
from isomorph.checking.steps_together import StepsTogether
from isomorph.checking.unreached import (
    compare_attributes,
    compare_constants,
    compare_inputs,
    compare_on_other_inputs,
    compare_sizes,
)
from isomorph.checking.verdict import Claim, Outcome, known_to_differ
from isomorph.core.cost import phase
from isomorph.core.coverage import InputKind
from isomorph.core.decoding_limits import FULL_STEPS
from isomorph.core.divergence import Verdict
from isomorph.core.messages import message
from isomorph.core.model import OutputOrder
from isomorph.diagnose.weight_proof import WeightProof
from isomorph.inputs.sample_batching import for_both
from isomorph.localize.probe_search import probed
from isomorph.localize.unrounded_weights import UnroundedCandidates
from isomorph.localize.weight_effect import ConstantExperiment
from isomorph.localize.weight_findings import ComparedWeights
from isomorph.match.binding import check_budget_names, check_layout_names
from isomorph.measure import findings as output_findings
from isomorph.measure.compare import Comparison, Terms
from isomorph.measure.size_findings import Sized

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.log import CheckLog
    from isomorph.checking.sample_plan import SamplePlan
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding, Report
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle


def check_pair(
    reference: ModelHandle,
    candidate: ModelHandle,
    given: Sample | None,
    options: CheckConfig,
    plan: SamplePlan | None = None,
) -> Report:
    """Whether two models are the same function."""
    with logged_check(options, reference, candidate) as log:
        stored_inputs = reference.model.graph.inputs
        prepared = prepare_pair(reference, candidate, options)
        prepared = prepared if plan is None else plan.bound(prepared)
        pair, outputs = _PairCheck.of(log, prepared), prepared.outputs
        pair.check_interface()
        if options.data is not None:
            result = pair.judge_test_set(stored_inputs)
            samples, outputs = result.examined, result.outputs
        elif plan is not None:
            with phase("decode"):
                samples = plan.samples(prepared)
        else:
            samples = samples_of(prepared, given)
        earlier = EarlierSamples(outputs=outputs)
        steps = None
        if plan is not None:
            wide = pair.unrounded.prepare
            steps = StepsTogether(prepared=prepared, samples=samples, unrounded=wide)
        for sample in log.each_sample(samples):
            earlier = pair.check_sample(sample, earlier, plan, steps)
        if plan is not None:
            log.add(plan.outcome(prepared))
        return pair.report(earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PairCheck:
    """The check of a prepared pair."""

    log: CheckLog
    prepared: PreparedPair
    collectors: Collectors
    sizes: Sized
    declared_terms: Terms
    weights: ComparedWeights
    unrounded: UnroundedCandidates
    proof: ProofBeside

    @classmethod
    def of(cls, log: CheckLog, prepared: PreparedPair) -> _PairCheck:
        options, right = prepared.options, prepared.candidate.model.graph
        check_budget_names(options.budgets, prepared.outputs)
        check_layout_names(options.layouts, (*right.inputs, *right.outputs))
        reference, candidate = prepared.reference.model, prepared.candidate.model
        terms = comparison_terms(
            options,
            channels=reference.channels_last != candidate.channels_last,
            layouts_of=names_of(right.outputs) - names_of(right.inputs),
        )
        weights = ComparedWeights(prepared.reference, prepared.candidate)
        return cls(
            log=log,
            prepared=prepared,
            collectors=Collectors.of(options),
            sizes=Sized(stated=options.sizes is not None),
            declared_terms=terms,
            weights=weights,
            unrounded=UnroundedCandidates(weights),
            proof=ProofBeside(requested=options.prove),
        )

    @property
    def terms(self) -> Terms:
        """The terms of a comparison, as far as the layouts of inputs are known by now."""
        return with_channels(self.declared_terms, moved=self.log.summary.moves_channels)

    @property
    def orders(self) -> set[OutputOrder]:
        """How the outputs of the two models are ordered."""
        prepared = self.prepared
        return {prepared.reference.model.output_order, prepared.candidate.model.output_order}

    def check_interface(self) -> None:
        """Compare what the two models declare: inputs, and the order and names of outputs."""
        prepared = self.prepared
        left, right = prepared.reference.model, prepared.candidate.model
        findings = [
            *prepared.interface.findings(),
            *output_findings.of_inputs(left, right, prepared.inputs),
            *output_findings.of_words(left, right),
        ]
        self.log.add(Outcome(findings=tuple(findings)))
        self.log.add(declared_order(prepared, self.orders))
        self.log.expect(left.graph.outputs, prepared.outputs)

    def judge_test_set(self, stored_inputs: Sequence[TensorSpec]) -> TestSetResult:
        """Judge every sample of the test set."""
        log, prepared = self.log, self.prepared
        pairs = PairOnSamples(prepared, lambda: self.terms)
        sides = pairs.sides()
        forecast: set[object] = set()

        def judge(sample: Sample, bindings: Sequence[Binding]) -> Comparison:
            models = pairs.models(sample)
            log.add(Outcome(moves_channels=sides.moved()))
            # The memory that a run takes depends on the sizes of the sample alone.
            for each in models:
                sizes = each.role, tuple(getattr(x, "shape", ()) for x in each.feeds.values())
                if sizes not in forecast:
                    forecast.add(sizes)
                    log.add(memory_outcome(each))
            return pairs.judge(sample, bindings)

        right = prepared.candidate.model.graph.inputs
        taken = for_both(stored_inputs, right, prepared.inputs)
        result = judge_test_set(
            log, sides, taken, prepared.outputs, judge=judge, terms=lambda: self.terms
        )
        collect_test_set(self.collectors, result)
        return result

    def check_sample(
        self,
        sample: Sample,
        earlier: EarlierSamples,
        plan: SamplePlan | None = None,
        steps: StepsTogether | None = None,
    ) -> EarlierSamples:
        """Evaluate both models on one sample, compare them, and locate what differs."""
        log, prepared = self.log, self.prepared
        ready = None if steps is None else steps.pair(sample)
        if ready is None:
            ref = evaluate_model(log, prepared.reference, prepared.reference.real(sample.feeds))
        else:
            ref = ready[0].model
            log.add(ready[0].outcome)
        if self.sizes.refused(sample, ref):
            log.ledger.drop()
            return earlier
        evaluation = evaluate_candidate(prepared, ref) if ready is None else ready[1]
        log.add(evaluation.outcome)
        cand = evaluation.model
        if self.sizes.failed(sample, cand):
            return earlier
        log.add(Outcome(findings=tuple(prepared.interface.clipped_inputs(sample, cand.feeds))))
        if ready is not None or is_deterministic(log, ref, cand):
            earlier = self._compare(sample, (ref, cand), earlier, plan)
        if steps is not None:
            steps.note((ref, cand), same_weights=earlier.loss.same_weights)
        add_failures(log, sample, ref, cand)
        return earlier

    def _compare(
        self,
        sample: Sample,
        sides: tuple[EvaluatedModel, EvaluatedModel],
        earlier: EarlierSamples,
        plan: SamplePlan | None,
    ) -> EarlierSamples:
        log, loss = self.log, earlier.loss
        proof = WeightProof(self.weights, sides, earlier.outputs, self.terms.false_alarm)
        with phase("compare"):
            terms = replace(
                self.terms,
                decided=known_to_differ(log.summary),
                search=log.options.locate and not earlier.located,
                by_weight=(lambda: proof.holds) if weights_decide(log.options) else None,
            )
            decoded = sample.kind is InputKind.DECODED and not log.options.strict
            later = decoded and len(log.samples) > FULL_STEPS
            few = decoded and judges_same_weights(log.options, sides, loss, self.unrounded)
            terms = replace(terms, same_weights=few)
            comparison = compared_sample(sides, earlier.outputs, terms, later=later)
        comparison, found = confirmed(sides, comparison, earlier.outputs, terms)
        if log.options.look_into_loss:
            with phase("study of the loss"):
                loss = study_loss(
                    sides,
                    comparison,
                    self.terms,
                    sample.kind,
                    loss,
                    candidates=self.unrounded,
                    few_draws=terms.same_weights,
                )
            log.add(loss.outcome)
            comparison = loss.comparison or comparison
        elif log.options.quick:
            comparison = with_doubtful_losses(comparison, terms)
        add_comparison(log, comparison, earlier.outputs)
        if shows_no_number(comparison.divergences):
            earlier = replace(earlier, not_finite=sides[0])
        if log.options.look_into_loss and not earlier.run_loss.findings:
            names = [pair.candidate for pair in earlier.outputs]
            earlier = replace(earlier, run_loss=optimized_run_loss(sides[1], names))
        self.proof.note(sides[0].feeds, comparison.divergences)
        if plan is not None:
            plan.add(sample, comparison, sides)
        self.sizes.note(sample, comparison.divergences)
        by_weight = comparison.by_weight and comparison.order is None
        if by_weight and not earlier.located:
            log.add(weight_outcome(comparison, proof))
        once = earlier.located and not earlier.located_again
        again = once and step_shows_more(log, sample, comparison)
        located = locate_once(
            log, self.collectors, sides, comparison, self.terms,
            hidden=loss.hidden or found, done=(earlier.located and not again) or by_weight,
        )  # fmt: skip
        earlier = replace(earlier, located_again=earlier.located_again or again)
        located = located or earlier.located
        compared = ComparedSample(sample=sample, comparison=comparison, sides=sides)
        earlier = self._describe(compared, earlier, located=located)
        earlier = replace(earlier, outputs=comparison.bindings, loss=loss, located=located)
        return self._probe(sides, comparison, earlier)

    def _describe(
        self, compared: ComparedSample, earlier: EarlierSamples, *, located: bool
    ) -> EarlierSamples:
        """Keep a sample for what the report shows; tensors are described at one size only."""
        sample = compared.sample
        if sample.kind is InputKind.DECODED:  # every step has sizes of its own
            if located and not earlier.located:
                self._collect(compared)
            return replace(earlier, first_step=earlier.first_step or compared)
        if not sample.sizes:
            self._collect(compared)
        return earlier

    def _collect(self, compared: ComparedSample) -> None:
        collect_sample(
            self.log, self.collectors, compared.sample, compared.comparison, compared.sides
        )

    def _probe(
        self,
        sides: tuple[EvaluatedModel, EvaluatedModel],
        comparison: Comparison,
        earlier: EarlierSamples,
    ) -> EarlierSamples:
        """Search beyond the inputs of the first sample on which the models agree."""
        experiment = earlier.experiment or ConstantExperiment(
            sides=sides, outputs=comparison.bindings, terms=self.terms, carry=self._carry
        )
        agree = all(each.verdict is not Verdict.DIVERGENT for each in comparison.divergences)
        found = earlier.probed
        if self.log.options.locate and agree and found is None:
            with phase("search for other inputs"):
                found = probed(sides, comparison.bindings, self.terms, self._carry)
        return replace(earlier, probed=found, experiment=experiment)

    def _carry(self, reference: EvaluatedModel) -> Mapping[str, Array]:
        """The candidate's feeds for another input of the reference."""
        arranged = self.prepared.arrange(reference)
        self.log.add(layout_outcome(arranged))
        return arranged.feeds

    def _compare_unreached(self, earlier: EarlierSamples) -> None:
        """Compare the weights, attributes and inputs that the given inputs may not show."""
        log, prepared, experiment = self.log, self.prepared, earlier.experiment
        for handle in (prepared.reference, prepared.candidate):
            handle.release_oracle()
        with phase("weights"):
            log.add(compare_constants(prepared, experiment, log.summary, log.samples, self.weights))
        with phase("attributes"):
            log.add(
                compare_attributes(prepared, experiment, earlier.probed, log.summary, log.samples)
            )
        with phase("inputs that are read"):
            log.add(compare_inputs(prepared, experiment, log.summary, log.samples))
        with phase("other inputs"):
            log.add(compare_on_other_inputs(prepared, experiment, log.summary, log.samples))
        with phase("other sizes"):
            log.add(compare_sizes(prepared, experiment, log.summary, log.samples))

    def report(self, earlier: EarlierSamples) -> Report:
        """Compare sizes, weights and attributes, and make the report."""
        log, prepared = self.log, self.prepared
        if earlier.first_step is not None and not earlier.located:
            self._collect(earlier.first_step)
        reason = message("DIVERGENT.sizes")
        for finding in self.sizes.findings():
            claim = Claim(verdict=Verdict.DIVERGENT, reason=reason)
            log.add(Outcome(findings=(finding,), claims=(claim,)))
        log.add(never_finite(log, earlier.not_finite, self.terms.false_alarm))
        if not log.options.quick:
            self._compare_unreached(earlier)
        left, right = prepared.reference.model.graph, prepared.candidate.model.graph
        signature = output_findings.of_signature(
            "output", left.outputs, right.outputs, earlier.outputs
        )
        log.add(Outcome(findings=tuple(signature)))
        log.add(run_time_loss(left, right, log.summary.divergences.values()))
        log.add(earlier.run_loss)
        report = final_report(
            log,
            self.collectors,
            (prepared.reference, prepared.candidate),
            prepared.inputs,
            earlier.outputs,
            skipped=self.sizes.skipped,
        )
        return self.proof.added(report, prepared, earlier.outputs, log.samples)
