"""The verb: load both models, feed them alike, measure, and say what follows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Divergence, Judgement, Part, Verdict
from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.report import Binding, Finding, InputSummary, Report, Skipped
from isomorph.stages.diagnose.execution import guilty_of_running
from isomorph.stages.diagnose.guilty import guilty
from isomorph.stages.diagnose.randomness import random_run
from isomorph.stages.localise.aligner import Aligner
from isomorph.stages.localise.profile import Onlooker
from isomorph.stages.localise.reach import Carry, probed
from isomorph.stages.measure import findings as say
from isomorph.stages.measure import layouts
from isomorph.stages.measure.compare import Comparison, Terms, compare, compared_elements
from isomorph.stages.measure.over_samples import measure
from isomorph.stages.measure.recorded import Recording
from isomorph.stages.measure.sides import Sides, alone, together
from isomorph.stages.measure.sized import Sized
from isomorph.stages.measure.spread import FALSE_ALARM
from isomorph.stages.measure.steadiness import unsteady
from isomorph.stages.measure.subject import Subject
from isomorph.stages.measure.verdict import most_draws
from isomorph.stages.measure.whereabouts import first_trouble
from isomorph.stages.measure.worst import SEVERITY, Worst, weight
from isomorph.stages.run import feeds as feeding
from isomorph.stages.run.binding import bind_inputs, bind_outputs
from isomorph.stages.run.feeds import Sample
from isomorph.stages.run.made_up import made_up
from isomorph.stages.run.meeting import against_values, meet
from isomorph.stages.run.opened import Opened
from isomorph.stages.wishes import Wishes as Wishes  # noqa: PLC0414 - it is used from here
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array
    from isomorph.stages.run.data_sets import DataSet

_FATAL = frozenset({"TIMEOUT", "OUT_OF_MEMORY", "RUNTIME_CRASHED"})


def check_pair(
    reference: Opened, candidate: Opened, given: Sample | None, wishes: Wishes
) -> Report:
    """Two models: the same function?"""
    work = _Work(wishes)
    as_stored = reference.model.graph.inputs
    met = meet(reference, candidate, wishes.bind_inputs, wishes.bind_outputs)
    reference, candidate = met.reference, met.candidate
    work.findings += met.findings()
    left, right = reference.model.graph, candidate.model.graph
    inputs = bind_inputs(left.inputs, right.inputs, wishes.bind_inputs)
    outputs = bind_outputs(left.outputs, right.outputs, wishes.bind_outputs)
    work.findings += say.of_signature("input", left.inputs, right.inputs, inputs)
    marks = {each.model.metadata.get("outputs") for each in (reference, candidate)}
    swapped = say.of_named_order(left.outputs, right.outputs, outputs)
    # The outputs of a SavedModel are a dict: whoever calls it asks by name, and no order is lost.
    if swapped is not None and "unordered" not in marks:
        work.accuse(swapped, Verdict.DIVERGENT, "the outputs are in another order")
    for spec in left.outputs:
        if spec.name not in {pair.reference for pair in outputs}:
            work.worsen(Verdict.DIVERGENT, f"the candidate lacks output {spec.name!r}")
    if wishes.data is not None:
        sides = together(reference, candidate, inputs, wishes.layouts, wishes.seed)
        samples = work.chosen(wishes.data, sides, as_stored, outputs)
    else:
        samples = [given] if given is not None else met.made_up(inputs, wishes.dims, wishes.seed)
        if given is None or wishes.sizes is not None:
            samples += met.of_other_sizes(inputs, wishes.dims, wishes.seed, wishes.sizes)
    for sample in work.worthwhile(samples):
        mine = work.subject(reference, reference.real(sample.feeds))
        if work.sized.refused(sample, mine):
            continue
        yours = work.subject(candidate, _arranged(work, mine, candidate, inputs))
        if work.sized.failed(sample, yours):
            continue
        work.findings += met.beyond(sample, yours.feeds)
        if work.deterministic(mine, yours):
            comparison = compare(mine, yours, outputs, work.terms)
            work.add(comparison, outputs)
            work.sized.note(sample, comparison.divergences)
            outputs = comparison.bindings
            work.locate(mine, yours, comparison)
            work.probe(
                (mine, yours), comparison, lambda fed: _arranged(work, fed, candidate, inputs)
            )
            if not sample.sizes:  # what is told of tensors is told at one size
                work.remember(sample, comparison, yours, mine)
        work.failures(mine, yours)
    for finding in work.sized.findings():
        work.accuse(finding, Verdict.DIVERGENT, "wrong at some sizes of its dynamic axes")
    # PyTorch names no outputs: the names of its nodes are nobody's interface.
    named = "by place" not in marks
    work.findings += say.of_signature("output", left.outputs, right.outputs, outputs, named=named)
    return work.report((reference, candidate), inputs, outputs)


def _arranged(
    work: _Work, reference: Subject, candidate: Opened, inputs: Sequence[Binding]
) -> Mapping[str, Array]:
    """The reference's feeds under the candidate's names, types and arrangement of axes."""
    graph = candidate.model.graph
    taker = layouts.Taker(
        inputs=graph.inputs,
        outputs=list(dict.fromkeys(spec.name for spec in graph.outputs)),
        oracle=candidate.oracle,
    )
    settled = layouts.settle(reference, taker, inputs, work.wishes.layouts)
    work.findings += layouts.findings(settled)
    feeds = {name: np.asarray(value) for name, value in reference.feeds.items()}
    return layouts.rearranged(feeding.carried_over(feeds, inputs, graph.inputs), settled)


def check_recorded(
    recording: Recording, candidate: Opened, given: Sample | None, wishes: Wishes
) -> Report:
    """A model against outputs that were recorded elsewhere."""
    work = _Work(wishes)
    candidate, changes = against_values(recording.specs, candidate, wishes.bind_outputs)
    work.findings += [change.finding for change in changes]
    graph = candidate.model.graph
    outputs = bind_outputs(recording.specs, graph.outputs, wishes.bind_outputs)
    work.findings += say.of_signature("output", recording.specs, graph.outputs, outputs)
    samples = [given] if given is not None else _generated(candidate, wishes)
    for sample in work.worthwhile(samples[:1]):
        yours = work.subject(candidate, sample.feeds)
        if work.deterministic(yours):
            comparison = compare(recording.subject(yours), yours, outputs, work.terms)
            work.add(comparison, outputs)
        work.failures(yours)
    return work.report((candidate,), (), outputs, recording=recording)


def check_alone(candidate: Opened, given: Sample | None, wishes: Wishes) -> Report:
    """One model against its own oracle: does its run hold, and where does trouble begin?"""
    work = _Work(wishes)
    graph = candidate.model.graph
    outputs = bind_outputs(graph.outputs, graph.outputs, {})
    if wishes.data is not None:
        samples = work.chosen(wishes.data, alone(candidate), graph.inputs, outputs)
    else:
        samples = [given] if given is not None else _generated(candidate, wishes)
    for sample in work.worthwhile(samples):
        subject = work.subject(candidate, sample.feeds)
        if work.deterministic(subject):
            comparison = compare(Recording.of_meaning(subject), subject, outputs, work.terms)
            work.add(comparison, outputs)
            work.locate(subject, subject, comparison)
            work.findings += first_trouble(subject, work.terms.false_alarm)
            work.remember(sample, comparison, subject, None)
        work.failures(subject)
    return work.report((candidate,), (), outputs)


def _generated(candidate: Opened, wishes: Wishes) -> list[Sample]:
    return made_up(candidate.model, candidate.model.graph, (), wishes.dims, wishes.seed)


class _Work:
    """What accumulates on the way to a report."""

    def __init__(self, wishes: Wishes) -> None:
        self.wishes = wishes
        self.terms = Terms(false_alarm=FALSE_ALARM, budgets=wishes.budgets)
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.divergences: dict[tuple[str | None, str | None], Divergence] = {}
        self.verdict, self.reason = Verdict.EQUIVALENT, ""
        self.tried: list[Sample] = []
        self.spent = ""
        self.located = self.probed = False
        self.worst, self.sized = Worst(), Sized()
        self.aligner = Aligner(wanted=wishes.align, told=wishes.told)
        self.onlooker = Onlooker(wanted=wishes.profile, told=wishes.told)
        self.started = time.monotonic()

    def worthwhile(self, samples: Sequence[Sample]) -> Iterator[Sample]:
        """The samples in turn, until one costs a runtime its life: the next would do the same."""
        for sample in samples:
            if self.spent:
                self.skipped.append(Skipped(what=f"inputs {sample.origin}", why=self.spent))
                continue
            self.tried.append(sample)
            yield sample

    def subject(self, opened: Opened, feeds: Mapping[str, Array]) -> Subject:
        """A model on one sample."""
        self.findings += say.of_forecast(opened, feeds)
        return Subject(
            role=opened.role,
            model=opened.model,
            feeds=feeds,
            runtime=opened.run,
            plain=opened.plain,
            oracle=opened.oracle,
            seed=self.wishes.seed,
            opened=opened,
            told=self.wishes.told,
        )

    def worsen(self, verdict: Verdict, reason: str) -> None:
        """Keep the graver verdict; the first reason of a kind stays."""
        if SEVERITY.index(verdict) > SEVERITY.index(self.verdict) or not self.reason:
            self.verdict, self.reason = verdict, reason

    def accuse(self, finding: Finding, verdict: Verdict, reason: str) -> None:
        """A finding that settles the verdict."""
        self.findings.append(finding)
        self.worsen(verdict, reason)

    def deterministic(self, *subjects: Subject) -> bool:
        """Whether each model repeats itself; a random reference leaves nothing to compare with."""
        random = {each.role: each for each in subjects if unsteady(each)}
        for role, subject in random.items():
            finding = random_run(subject, unsteady(subject))
            # A random reference can convict nobody, not even a candidate that is random too.
            verdict = Verdict.UNKNOWN if "reference" in random else Verdict.DIVERGENT
            self.accuse(finding, verdict, f"the {role} is random")
        return not random

    def add(self, comparison: Comparison, bindings: Sequence[Binding]) -> None:
        """Take over one sample's results; of each output the worst sample is kept."""
        if comparison.order is not None:
            places = [pair for pair in bindings if pair.how == "position"]
            self.accuse(
                say.of_order(places, comparison.order),
                Verdict.DIVERGENT,
                "the outputs are in another order",
            )
        self.findings += say.of_rearranged(comparison.rearranged, comparison.divergences)
        for divergence in comparison.divergences:
            key = divergence.reference_output, divergence.candidate_output
            before = self.divergences.get(key)
            if before is None or weight(divergence) > weight(before):
                self.divergences[key] = divergence
            self.worsen(divergence.verdict, divergence.reason)

    def locate(
        self,
        reference: Subject,
        candidate: Subject,
        comparison: Comparison,
    ) -> None:
        """Name the guilty nodes of the first sample on which the two graphs differ."""
        wrong = [d for d in comparison.divergences if d.verdict is Verdict.DIVERGENT]
        if not self.wishes.locate or self.located or comparison.order is not None:
            return
        astray = [d for d in wrong if _beyond(d.execution_candidate)]
        if not astray and not any(_beyond(d.rounding) for d in wrong):
            return
        self.located = True
        pairs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
        try:
            if any(_beyond(d.rounding) for d in wrong):
                found, located = guilty(reference, candidate, pairs)
                unexplained = located.unexplained
                self.onlooker.found(candidate, located)
                self.aligner.found(located)
            else:
                found, unexplained = guilty_of_running(candidate, astray, self.terms.false_alarm)
        except IsomorphError as error:
            found, unexplained = [], error.sentence
        self.findings = [*found, *self.findings]
        if unexplained:
            self.skipped.append(Skipped(what="localisation", why=unexplained))

    def probe(self, sides: tuple[Subject, Subject], comparison: Comparison, carry: Carry) -> None:
        """Look beyond the inputs of the first sample on which all is well."""
        calm = all(d.verdict is not Verdict.DIVERGENT for d in comparison.divergences)
        if not self.wishes.locate or not calm or self.probed:
            return
        self.probed = True
        found = probed(sides, comparison.bindings, self.terms, carry)
        self.findings += found.findings
        self.skipped += found.skipped
        # Inputs that a user gave are the question; made-up ones are no better than those found.
        if found.trial is not None and self.tried[-1].origin.startswith("generated"):
            self.worsen(Verdict.DIVERGENT, f"they differ on other inputs: {found.trial.recipe}")

    def remember(
        self, sample: Sample, comparison: Comparison, candidate: Subject, reference: Subject | None
    ) -> None:
        """Keep the sample if none was worse."""
        self.aligner.remember(reference, candidate)
        self.worst.remember(sample, comparison.divergences, candidate, reference)
        outputs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
        self.onlooker.remember(
            sample.origin, (reference, candidate), outputs, comparison.divergences
        )

    def chosen(
        self, data: DataSet, sides: Sides, inputs: Sequence[TensorSpec], outputs: Sequence[Binding]
    ) -> list[Sample]:
        """The samples of a test set that the full check is made on."""
        wishes = self.wishes
        samples = data.samples(inputs, wishes.dims)
        found = measure(
            str(data.location), samples, sides, outputs, metric=wishes.metric, told=wishes.told
        )
        self.worst.chosen_from = found.summary
        self.findings += found.findings
        self.skipped += [*found.skipped, *data.skipped()]
        return found.examined

    def failures(self, *subjects: Subject) -> None:
        """Crashes, hangs and refusals: findings about a runtime, and nothing is called fine."""
        for subject in subjects:
            for what, error in subject.failures():
                self.findings.append(say.of_failure(subject.role, what, error))
                self.skipped.append(Skipped(what=f"{subject.role}: {what}", why=error.sentence))
                self.worsen(Verdict.UNKNOWN, error.sentence)
                if error.code in _FATAL:
                    self.spent = f"after {error.code} on the inputs before, nothing more was run"
                if error.exit_code != RuntimeFailedError.exit_code:
                    raise error

    def report(
        self,
        opened: Sequence[Opened],
        inputs: Sequence[Binding],
        outputs: Sequence[Binding],
        recording: Recording | None = None,
    ) -> Report:
        """Everything together."""
        divergences = tuple(self.divergences.values())
        self.findings += say.of_outputs(divergences)
        for each in opened:
            for environment in each.environments.values():
                self.findings += say.of_fallback(each.role, environment.facts)
        if self.verdict is Verdict.EQUIVALENT and not compared_elements(divergences):
            self.verdict, self.reason = Verdict.UNKNOWN, "no value was compared"
        rows, unmeasured = self.worst.quantization(asked=self.wishes.quantization)
        profile, unseen = self.onlooker.profile()
        alignment, unpaired = self.aligner.alignment()
        self.skipped += [*unmeasured, *unseen, *unpaired, *self.sized.skipped]
        environments = {k: v for each in opened for k, v in each.environments.items()}
        summaries = tuple(each.summary for each in opened)
        return Report(
            verdict=self.verdict,
            reason=self.reason,
            command="check",
            seed=self.wishes.seed,
            draws=most_draws(divergences),
            false_alarm=FALSE_ALARM,
            strict=self.wishes.strict,
            models=((recording.summary,) if recording else ()) + summaries,
            environments=environments,
            inputs=tuple(s for sample in self.tried for s in _inputs(sample)),
            input_bindings=tuple(inputs),
            output_bindings=tuple(outputs),
            outputs=divergences,
            findings=say.ranked(self.findings),
            alignment=alignment,
            quantization=rows,
            profile=profile,
            test_set=self.worst.test_set(self.tried),
            skipped=tuple(self.skipped),
            trusted=self.wishes.trusted,
            elapsed={"total": time.monotonic() - self.started},
            version=VERSION,
        )


def _beyond(part: Part | None) -> bool:
    return part is not None and part.budget.within is Judgement.NO


def _inputs(sample: Sample) -> tuple[InputSummary, ...]:
    return feeding.summaries(sample.feeds, sample.origin)
