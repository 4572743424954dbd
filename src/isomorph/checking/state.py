"""What accumulates on the way from two opened models to a report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.checking.summaries import failure_reason, input_summaries, model_summaries
from isomorph.core.coverage import InputKind, concluded
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import FATAL, IsomorphError, RuntimeFailedError
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.limits import Limit, noted_limits
from isomorph.core.report import Binding, Finding, FindingStatus, Report, Skipped
from isomorph.diagnose.crash_bisect import with_crashing_node
from isomorph.diagnose.diagnose_faults import diagnosed_faults
from isomorph.diagnose.faulty_runs import graphs_differ, runs_at_fault, runtime_findings
from isomorph.diagnose.randomness import randomness_finding
from isomorph.localize.alignment_builder import Aligner
from isomorph.localize.attribute_diff import with_likely_nodes
from isomorph.localize.first_difference import makers_of_wrong_outputs, non_numeric_outputs
from isomorph.localize.input_search import Carry, probed
from isomorph.localize.locate import Located, locate
from isomorph.localize.profile import ProfileCollector
from isomorph.localize.quantization_faults import judge_losses
from isomorph.localize.weight_effect import ConstantExperiment
from isomorph.measure import findings as say
from isomorph.measure import overflow
from isomorph.measure.calibration_range import unlike
from isomorph.measure.compare import Comparison, Terms, compare
from isomorph.measure.determinism import of_trembling, unsteady
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.ledger import Accounts
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.size_findings import Sized
from isomorph.measure.spread import FALSE_ALARM, MANY_DRAWS
from isomorph.measure.undecided_branches import of_decisions
from isomorph.measure.verdict import doubtful, most_draws
from isomorph.measure.worst_sample import SEVERITY, Worst, weight
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.options import CheckOptions
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.recorded_reference import Recording
    from isomorph.sessions.model_handle import ModelHandle


class CheckState:
    """What accumulates on the way to a report; ``opened`` are the models it is about."""

    def __init__(self, options: CheckOptions, *opened: ModelHandle) -> None:
        self.options, self.opened = options, opened
        self.terms = Terms(
            false_alarm=FALSE_ALARM,
            budgets=options.budgets,
            arrangeable=Arrangeable(anything=options.any_arrangement),
        )
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.limits: dict[Limit, None] = {}
        self.divergences: dict[tuple[str | None, str | None], Divergence] = {}
        self.verdict, self.reason = Verdict.EQUIVALENT, ""
        self.tried: list[Sample] = []
        self.abort_reason = ""
        self.located = self.probed = self.looked = False
        self.hidden: Located | None = None
        self.experiment: ConstantExperiment | None = None
        self.explained: frozenset[str] = frozenset()
        self.worst, self.sized = Worst(), Sized(stated=options.sizes is not None)
        self.aligner = Aligner(requested=options.align, on_progress=options.on_progress)
        self.collector = ProfileCollector(
            requested=options.profile, on_progress=options.on_progress
        )
        self.accounts = Accounts()
        self.started = time.monotonic()

    def arrange(self, *, channels: bool = False, stated: Iterable[str] = ()) -> None:
        """Take note that the channel axis of outputs may have moved, and of stated layouts."""
        known = self.terms.arrangeable
        layouts = {name: axes for name, axes in self.options.layouts.items() if name in stated}
        allowed = replace(
            known, channels=known.channels or channels, stated={**known.stated, **layouts}
        )
        self.terms = replace(self.terms, arrangeable=allowed)

    def worthwhile(self, samples: Sequence[Sample]) -> Iterator[Sample]:
        """The samples in turn, until one costs a runtime its life: the next would do the same."""
        for sample in samples:
            if self.abort_reason:
                self.skipped.append(Skipped(what=f"inputs {sample.origin}", why=self.abort_reason))
                continue
            self.tried.append(sample)
            self.accounts.open(sample)
            yield sample
            self.accounts.close()

    def expect(
        self, outputs: Sequence[TensorSpec], bound: Sequence[Binding], *, interface: bool = True
    ) -> None:
        """Every one of these outputs is owed; one that the candidate lacks is a divergence."""
        names = [spec.name for spec in outputs]
        for each in self.accounts.expect(names, bound, interface=interface):
            self.divergences[each.reference_output, None] = each
            self.raise_verdict(
                each.verdict, f"the candidate lacks output {each.reference_output!r}"
            )

    def subject(self, opened: ModelHandle, feeds: Mapping[str, Array]) -> EvaluatedModel:
        """A model on one sample."""
        self.findings += say.of_forecast(opened, feeds)
        return EvaluatedModel.of(
            opened, feeds, seed=self.options.seed, on_progress=self.options.on_progress
        )

    def raise_verdict(self, verdict: Verdict, reason: str) -> None:
        """Keep the graver verdict; the first reason of a kind stays."""
        if SEVERITY.index(verdict) > SEVERITY.index(self.verdict) or not self.reason:
            self.verdict, self.reason = verdict, reason

    def add_finding(self, finding: Finding, verdict: Verdict, reason: str) -> None:
        """A finding that settles the verdict."""
        self.findings.append(finding)
        self.raise_verdict(verdict, reason)

    def deterministic(self, *subjects: EvaluatedModel) -> bool:
        """Whether each model repeats itself; a random reference leaves nothing to compare with."""
        found = [(each, unsteady(each)) for each in subjects]
        random = {each.role: (each, seen.random) for each, seen in found if seen.random}
        for role, (subject, outputs) in random.items():
            # A random reference can convict nobody, not even a candidate that is random too.
            verdict = Verdict.UNKNOWN if "reference" in random else Verdict.DIVERGENT
            self.add_finding(randomness_finding(subject, outputs), verdict, f"the {role} is random")
        self.findings += [
            of_trembling(each.role, seen.trembling) for each, seen in found if seen.trembling
        ]
        for subject in subjects:
            if subject.handle is not None:
                subject.handle.release()
        return not random

    def add(self, comparison: Comparison, bindings: Sequence[Binding]) -> None:
        """Take over one sample's results; of each output the worst sample is kept."""
        if comparison.order is not None:
            self.add_finding(
                say.of_order(bindings, comparison.order),
                Verdict.DIVERGENT,
                "the outputs are in another order",
            )
        if self.divergences and comparison.bindings != tuple(bindings):
            # Outputs without an order may be paired by value, and then alike for every input.
            self.raise_verdict(Verdict.UNKNOWN, "no one pairing of the outputs fits every input")
        self.findings += say.of_rearranged(comparison.rearranged, comparison.divergences)
        self.keep(comparison.divergences)
        self.accounts.judged(comparison.divergences)

    def keep(self, divergences: Sequence[Divergence]) -> None:
        """Of each output the worst input, and the gravest verdict."""
        for divergence in divergences:
            key = divergence.reference_output, divergence.candidate_output
            before = self.divergences.get(key)
            if before is None or weight(divergence) > weight(before):
                self.divergences[key] = divergence
            self.raise_verdict(divergence.verdict, divergence.reason)

    def looked_into(
        self, reference: EvaluatedModel, candidate: EvaluatedModel, comparison: Comparison
    ) -> Comparison:
        """The first loss of precision, judged by its nodes as well, where its size is no answer.

        Blame is local: what a node loses beyond its own precision is a fault, however much the
        rest of the model may lose; and what all of them lose together is none.
        """
        graver = [d for d in comparison.divergences if d.verdict is Verdict.DIVERGENT]
        losing = any(d.verdict is Verdict.DEGRADED for d in comparison.divergences)
        # What an input loses on its own grid is told, and no node could be blamed for it.
        clipped = unlike(candidate.model.graph, candidate.feeds)
        open_to_doubt = not graver or (
            not clipped and all(doubtful(each, self.terms.false_alarm) for each in graver)
        )
        # Of a test set, each sample that is in doubt is looked into; one that merely loses, once.
        again = bool(graver) and self.tried[-1].kind is InputKind.TEST_SET
        if not (losing or graver) or not open_to_doubt or comparison.order:
            return comparison
        if self.looked and not again:
            return comparison
        if not self.options.look_into_loss:
            return comparison
        self.looked = True
        if graver:
            # What draws can still tell is told by them before a node is asked.
            candidate.look_closer(MANY_DRAWS)
            comparison = compare(reference, candidate, comparison.bindings, self.terms)
            graver = [d for d in comparison.divergences if d.verdict is Verdict.DIVERGENT]
            if not all(doubtful(each, self.terms.false_alarm) for each in graver):
                return comparison
        pairs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
        try:
            found = locate(comparison.as_stored(reference), candidate, pairs)
        except IsomorphError as error:
            self.skipped.append(Skipped(what="a look into the loss", why=error.sentence))
            return comparison
        judged = judge_losses(comparison, found)
        wrong = any(each.verdict is Verdict.DIVERGENT for each in judged.divergences)
        self.hidden = found if wrong else None
        return judged

    def locate(
        self,
        reference: EvaluatedModel,
        candidate: EvaluatedModel,
        comparison: Comparison,
    ) -> None:
        """Name the guilty nodes of the first sample on which the two graphs differ."""
        wrong = [d for d in comparison.divergences if d.verdict is Verdict.DIVERGENT]
        if comparison.underflow is not None:
            self.findings += comparison.underflow.findings
            self.explained |= comparison.underflow.outputs
            wrong = [d for d in wrong if d.candidate_output not in self.explained]
        if not self.options.locate or self.located or comparison.order is not None:
            return
        mistranslated = any(graphs_differ(d, self.terms.false_alarm) for d in wrong)
        if not mistranslated and not runs_at_fault(comparison.divergences):
            return
        self.located = True
        pairs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
        found: list[Finding] = []
        unexplained: str | None = None
        try:
            if mistranslated:
                against = comparison.as_stored(reference)
                found, located = diagnosed_faults(against, candidate, pairs, self.hidden)
                unexplained = located.unexplained
                names = [d.candidate_output for d in wrong if d.candidate_output is not None]
                found = [*found, *makers_of_wrong_outputs(located.matcher, names)]
                if not found and (left := non_numeric_outputs(located.matcher, names)):
                    unexplained = f"nobody can look into words and lists: {', '.join(left)}"
                self.collector.found(candidate, located)
                self.aligner.found(located)
        except IsomorphError as error:
            unexplained = error.sentence
        runs, left_over = runtime_findings(
            (reference, candidate), comparison.divergences, self.terms.false_alarm, bool(found)
        )
        found, unexplained = [*found, *runs], unexplained or left_over
        self.findings = [*found, *self.findings]
        if (
            found
            and not unexplained
            and all(each.status == FindingStatus.CONFIRMED for each in found)
        ):
            self.explained |= frozenset(d.candidate_output for d in wrong if d.candidate_output)
        if unexplained:
            self.skipped.append(Skipped(what="localization", why=unexplained))

    def probe(
        self, sides: tuple[EvaluatedModel, EvaluatedModel], comparison: Comparison, carry: Carry
    ) -> None:
        """Look beyond the inputs of the first sample on which all is well."""
        self.experiment = self.experiment or ConstantExperiment(
            sides=sides, outputs=comparison.bindings, terms=self.terms, carry=carry
        )
        calm = all(d.verdict is not Verdict.DIVERGENT for d in comparison.divergences)
        if not self.options.locate or not calm or self.probed:
            return
        self.probed = True
        found = probed(sides, comparison.bindings, self.terms, carry)
        self.findings += found.findings
        self.skipped += found.skipped
        # Inputs that a user gave are the question; made-up ones are no better than those found.
        if found.trial is not None and self.tried[-1].kind is InputKind.GENERATED:
            self.raise_verdict(
                Verdict.DIVERGENT, f"they differ on other inputs: {found.trial.recipe}"
            )

    def remember(
        self,
        sample: Sample,
        comparison: Comparison,
        candidate: EvaluatedModel,
        reference: EvaluatedModel | None,
    ) -> None:
        """Keep the sample if none was worse, and say what its run was too wide to show."""
        if self.options.locate and not any(f.code == overflow.CODE for f in self.findings):
            try:
                self.findings += overflow.hidden_overflow(candidate)
            except IsomorphError as error:
                self.skipped.append(Skipped(what="overflow in float16", why=error.sentence))
        self.aligner.remember(reference, candidate)
        self.worst.remember(sample, comparison.divergences, candidate, reference)
        outputs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
        self.collector.remember(
            sample.origin, (reference, candidate), outputs, comparison.divergences
        )

    def failures(self, *subjects: EvaluatedModel) -> None:
        """Crashes, hangs and refusals: findings about a runtime, and nothing is called fine."""
        for subject in subjects:
            self.findings += of_decisions(subject.role, subject.model.graph, subject.taken)
            for what, plain in subject.failures():
                error = self._named(subject, plain)
                self.findings.append(say.of_failure(subject.role, what, error))
                self.skipped.append(Skipped(what=f"{subject.role}: {what}", why=error.sentence))
                self.raise_verdict(Verdict.UNKNOWN, error.sentence)
                if self.verdict is Verdict.UNKNOWN and self._only_missing():
                    self.reason = failure_reason(subject, error)
                if error.code in FATAL:
                    self.abort_reason = (
                        f"after {error.code} on the inputs before, nothing more was run"
                    )
                if error.exit_code != RuntimeFailedError.exit_code:
                    raise error

    def _only_missing(self) -> bool:
        """Whether nobody knows because nothing could be measured: what failed says more."""
        doubtful = [d for d in self.divergences.values() if d.reason == self.reason]
        return bool(doubtful) and all(d.observed is None for d in doubtful)

    def _named(self, subject: EvaluatedModel, error: IsomorphError) -> IsomorphError:
        """A crash with the node behind it, looked for once; localizing is what was asked for."""
        if not self.options.locate or self.abort_reason or subject.handle is None:
            return error
        return with_crashing_node(error, subject.handle, subject.feeds)

    def report(
        self,
        opened: Sequence[ModelHandle],
        inputs: Sequence[Binding],
        outputs: Sequence[Binding],
        recording: Recording | None = None,
    ) -> Report:
        """Everything together."""
        divergences = tuple(self.divergences.values())
        symptoms = say.of_outputs(divergences, self.explained)
        self.findings += with_likely_nodes(symptoms, [each.model for each in opened])
        for each in opened:
            for environment in each.environments.values():
                self.findings += say.of_fallback(each.role, environment.facts)
        self.verdict, self.reason = concluded(self.verdict, self.reason, self.accounts.coverage)
        rows, unmeasured = self.worst.quantization(asked=self.options.quantization)
        profile, unprofiled = self.collector.profile()
        alignment, unpaired = self.aligner.alignment()
        self.skipped += [*unmeasured, *unprofiled, *unpaired, *self.sized.skipped]
        return replace(
            self._told(opened),
            models=((recording.summary,) if recording else ()) + model_summaries(opened),
            input_bindings=tuple(inputs),
            output_bindings=tuple(outputs),
            alignment=alignment,
            quantization=rows,
            profile=profile,
            test_set=self.worst.test_set(self.tried),
        )

    def _told(self, opened: Sequence[ModelHandle]) -> Report:
        """What is known by now, and nothing that would have to be measured first."""
        divergences = tuple(self.divergences.values())
        return Report(
            verdict=self.verdict,
            reason=self.reason,
            only_given=self.options.only_given,
            command="check",
            seed=self.options.seed,
            draws=most_draws(divergences),
            false_alarm=FALSE_ALARM,
            strict=self.options.strict,
            models=model_summaries(opened),
            environments={k: v for each in opened for k, v in each.environments.items()},
            inputs=tuple(s for sample in self.tried for s in input_summaries(sample)),
            outputs=divergences,
            coverage=self.accounts.coverage,
            findings=say.ranked(self.findings),
            skipped=(*self.skipped, *(Skipped(what=e.left_out, why=e.why) for e in self.limits)),
            trusted=self.options.trusted,
            elapsed={"total": time.monotonic() - self.started},
            version=VERSION,
        )

    @contextmanager
    def kept(self) -> Iterator[CheckState]:
        """Whoever interrupts gets what was found until then; a divergence stays one."""
        try:
            with noted_limits() as self.limits:
                yield self
        except KeyboardInterrupt as stop:
            if self.verdict is Verdict.DIVERGENT:
                self.reason = f"interrupted, and by then: {self.reason}"
            else:
                self.verdict, self.reason = Verdict.UNKNOWN, "interrupted"
            self.skipped.append(Skipped(what="the rest of the check", why="it was interrupted"))
            raise InterruptedCheck(self._told(self.opened)) from stop
