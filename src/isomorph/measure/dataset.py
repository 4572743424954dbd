"""Compare two models on many samples: judge each, and keep statistics of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.dataset_summary import OutputOverSamples, OverSamples
from isomorph.core.divergence import Verdict
from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.limits import MOST_EXAMINED
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Binding, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.core.trace import flatten
from isomorph.measure.draws_needed import doubtful
from isomorph.measure.noise_draws import flattened
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.output_order import nearest
from isomorph.measure.sample_stats import Record
from isomorph.measure.screening import FINE, Judge
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.data_sets import Drawn
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.compare import Comparison
    from isomorph.measure.model_functions import Sides
    from isomorph.measure.user_metric import UserMetric


@dataclass(slots=True, kw_only=True)
class DatasetResult:
    """The result over all samples; the full check is made on ``examined``.

    ``judged`` holds the comparison of each sample, under ``outputs``, by its name; ``unjudged``
    holds the reason for every other sample.
    """

    summary: OverSamples
    examined: list[Sample]
    outputs: tuple[Binding, ...]
    judged: dict[str, Comparison] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def measure(
    location: str,
    drawn: Iterable[Drawn],
    sides: Sides,
    outputs: Sequence[Binding],
    judge: Judge,
    *,
    false_alarm: float = FALSE_ALARM,
    arrangeable: Callable[[], Arrangeable] = Arrangeable,
    metric: UserMetric | None = None,
    on_progress: Callable[[str, str], None] | None = None,
) -> DatasetResult:
    """Run and judge every sample; a runtime that fails ends it at that sample.

    Once the models are divergent, further samples are run for the statistics, and not judged.
    """
    results = _Samples(outputs, unordered=sides.unordered, arrangeable=arrangeable)
    for each in _prepared(drawn, sides, results):
        if on_progress is not None:
            on_progress("test set", f"sample {results.samples + 1}: {each.sample.origin}")
        try:
            reference, candidate = (side(each.sample) for side in sides.both)
        except RuntimeFailedError as error:
            return results.broken(location, each.sample, error)
        pairs = results.add(each.sample, reference, candidate)
        try:
            results.judge(each.sample, judge, false_alarm)
        except RuntimeFailedError as error:
            return results.broken(location, each.sample, error)
        if metric is not None and not each.repeats:
            ref = {left: ref for (left, _), (ref, _) in pairs.items()}
            cand = {left: cand for (left, _), (_, cand) in pairs.items()}
            metric.add(ref, cand, each.arrays, each.sample.origin)
    if not results.samples:
        raise UsageError(
            "NO_SAMPLES", "there are no samples", file=location, why="its arrays have no elements"
        )
    return results.found(location, metric)


def _prepared(drawn: Iterable[Drawn], sides: Sides, results: _Samples) -> Iterator[Drawn]:
    """Yield the samples, prepared in batches: one at first, and then ever more."""
    waiting: list[Drawn] = []
    most = size = 1
    for each in drawn:
        if not waiting:
            size = 1 if results.divergent is not None else sides.at_once(each.sample, most)
            most *= 2
        waiting.append(each)
        if len(waiting) >= size:
            yield from _in_turn(waiting, sides)
            waiting = []
    yield from _in_turn(waiting, sides)


def _in_turn(waiting: Sequence[Drawn], sides: Sides) -> Iterator[Drawn]:
    if len(waiting) > 1:
        sides.prepare([each.sample for each in waiting])
    yield from waiting


class _Samples:
    """The results accumulated over the samples."""

    def __init__(
        self,
        outputs: Sequence[Binding],
        *,
        unordered: bool,
        arrangeable: Callable[[], Arrangeable],
    ) -> None:
        self.outputs, self.unordered, self.arrangeable = tuple(outputs), unordered, arrangeable
        self.samples = 0
        self.records: dict[tuple[str, str], Record] = {}
        self.bad_inputs: list[str] = []
        self.judged: dict[str, Comparison] = {}
        self.unjudged: dict[str, str] = {}
        self.unclear: list[Sample] = []
        self.divergent: Sample | None = None

    def add(
        self, sample: Sample, reference: Arrays, candidate: Arrays
    ) -> dict[tuple[str, str], tuple[Array, Array]]:
        if self.unordered and not self.samples:
            self.outputs = nearest(self.outputs, flattened(reference), flattened(candidate))
        self.samples += 1
        if any(_not_finite(array) for array in sample.feeds.values()):
            self.bad_inputs.append(sample.origin)
        pairs = {}
        for key, (ref, cand) in _paired(self.outputs, reference, candidate):
            record = self.records.setdefault(key, Record(key[1], self.arrangeable))
            if ref is None or cand is None:
                record.lacking(sample)
            else:
                pairs[key] = ref, record.add(sample, ref, cand)
        return pairs

    def judge(self, sample: Sample, judge: Judge, false_alarm: float) -> None:
        """Judge the sample, unless the models are known to differ."""
        if self.divergent is not None:
            why = message("SKIPPED.divergent_sample.why", sample=self.divergent.origin)
            self.unjudged[sample.origin] = why
            return
        comparison = judge(sample, self.outputs)
        if comparison.bindings != self.outputs:
            self.unjudged[sample.origin] = message("SKIPPED.pairing.why")
            return
        self.judged[sample.origin] = comparison
        if all(each.verdict in FINE for each in comparison.divergences):
            return
        wrong = [each for each in comparison.divergences if each.verdict is Verdict.DIVERGENT]
        # A few samples that cannot be judged are reported; possibly wrong ones are all examined.
        if wrong or len(self.unclear) < MOST_EXAMINED:
            self.unclear.append(sample)
        if any(not doubtful(each, false_alarm) for each in wrong):
            self.divergent = sample

    def found(self, location: str, metric: UserMetric | None) -> DatasetResult:
        summary = OverSamples(
            location=location,
            samples=self.samples,
            outputs=tuple(_summary(key, each) for key, each in self.records.items()),
            metric=metric.result if metric is not None else None,
        )
        return DatasetResult(
            summary=summary,
            examined=self._examined(),
            outputs=self.outputs,
            judged=self.judged,
            unjudged=self.unjudged,
            findings=list(self._findings()),
        )

    def broken(self, location: str, sample: Sample, error: RuntimeFailedError) -> DatasetResult:
        """Return the results so far; the sample on which a runtime failed is examined."""
        found = self.found(location, None)
        found.examined = [sample]
        rest = not_done("test_set", sample=sample.origin, error=error.sentence)
        found.unjudged[rest.what] = rest.why
        found.skipped.append(rest)
        return found

    def _examined(self) -> list[Sample]:
        """Return the worst samples of each output and unclear ones; once divergent, a few."""
        kinds = ("relative", "absolute")
        kept = [each.worst[kind].sample for kind in kinds for each in self.records.values()]
        worst = list({sample.origin: sample for sample in kept}.values())[:MOST_EXAMINED]
        if self.divergent is None:
            return list({sample.origin: sample for sample in (*worst, *self.unclear)}.values())
        others = [each for each in worst if each.origin != self.divergent.origin]
        known = [each for each in worst if each.origin == self.divergent.origin]
        if known:
            return worst
        return [*others[: MOST_EXAMINED - 1], self.divergent]

    def _findings(self) -> Iterator[Finding]:
        if self.bad_inputs:
            text = message(
                "INPUT_NOT_FINITE.set",
                count=len(self.bad_inputs),
                samples=self.samples,
                first=self.bad_inputs[0],
            )
            yield _finding("INPUT_NOT_FINITE", text)
        for (name, _), record in self.records.items():
            if record.first_not_finite is not None:
                yield _finding(
                    "OUTPUT_NOT_FINITE",
                    message(
                        "OUTPUT_NOT_FINITE.set",
                        output=name,
                        count=record.not_finite,
                        samples=self.samples,
                        first=record.first_not_finite,
                        mismatched=record.mismatched,
                    ),
                    tensors=(name,),
                )


def _finding(code: str, summary: str, tensors: tuple[str, ...] = ()) -> Finding:
    return Finding(
        code=code,
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE,
        summary=summary,
        tensors=tensors,
    )


def _paired(
    outputs: Sequence[Binding], reference: Arrays, candidate: Arrays
) -> Iterator[tuple[tuple[str, str], tuple[Array | None, Array | None]]]:
    """Yield every bound pair, a sequence as its elements; None where an element is missing."""
    for pair in outputs:
        ref = _flat(pair.reference, reference)
        cand = _flat(pair.candidate, candidate)
        for path in dict.fromkeys((*ref, *cand)):
            key = f"{pair.reference}{path}", f"{pair.candidate}{path}"
            yield key, (ref.get(path), cand.get(path))


def _flat(name: str, values: Arrays) -> dict[str, Array]:
    """Return the arrays of an output by their paths inside it."""
    flat = flatten("", values.get(name))
    return {path: np.asarray(value) for path, value in flat.items() if value is not None}


def _not_finite(array: Array) -> bool:
    return array.dtype.kind in "fc" and not bool(np.isfinite(array).all())


def _summary(names: tuple[str, str], record: Record) -> OutputOverSamples:
    worst = record.worst["relative"]
    return OutputOverSamples(
        reference_output=names[0],
        candidate_output=names[1],
        samples=len(record.relative),
        worst=worst.sample.origin,
        worst_relative=worst.relative,
        worst_absolute=worst.absolute,
        quantiles=record.quantiles(),
        label_agreement=record.label_agreement,
        not_finite=record.not_finite,
        nonfinite_mismatch=record.mismatched,
        misshapen=record.misshapen,
        by_axis=tuple(record.profiles.found()),
    )
