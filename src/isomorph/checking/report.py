"""The last phase of a check: the report, from the outcomes of all others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.checking.log import CheckLog
from isomorph.checking.never_finite import without_numbers
from isomorph.checking.verdict import Claim, Outcome, without_runs
from isomorph.core.cost import cost_so_far, phase
from isomorph.core.divergence import Verdict
from isomorph.core.execution import provider_fallback
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.limits import noted_limits
from isomorph.core.messages import message
from isomorph.core.not_done import beyond, not_done
from isomorph.core.report import Binding, Report, Skipped
from isomorph.inputs import feeds as feeding
from isomorph.localize.attribute_diff import with_likely_nodes
from isomorph.measure import findings as output_findings
from isomorph.measure.draws_needed import most_draws
from isomorph.measure.spread import FALSE_ALARM
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.collect import Collectors
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.verdict import Summary
    from isomorph.measure.recorded_reference import Recording
    from isomorph.sessions.model_handle import ModelHandle


def final_report(
    log: CheckLog,
    collectors: Collectors,
    handles: Sequence[ModelHandle],
    inputs: Sequence[Binding],
    outputs: Sequence[Binding],
    *,
    recording: Recording | None = None,
    skipped: Sequence[Skipped] = (),
) -> Report:
    """The report of a finished check; what is shown of a chosen sample is measured now."""
    log.add(_closing_findings(log.summary, handles))
    log.conclude()
    with phase("quantized tensors"):
        quantization, unmeasured = collectors.worst.quantization(asked=log.options.quantization)
    with phase("profile"):
        profile, unprofiled = collectors.profile.profile()
    with phase("alignment"):
        alignment, unaligned = collectors.aligner.alignment()
    log.add(Outcome(skipped=(*unmeasured, *unprofiled, *unaligned, *skipped)))
    report = report_so_far(log, handles)
    return replace(
        report,
        models=(*((recording.summary,) if recording else ()), *report.models),
        input_bindings=tuple(inputs),
        output_bindings=tuple(outputs),
        alignment=alignment,
        quantization=quantization,
        profile=profile,
        test_set=collectors.worst.test_set(log.samples),
    )


def _closing_findings(summary: Summary, handles: Sequence[ModelHandle]) -> Outcome:
    """Findings about outputs without an explanation, and about runtimes that fell back."""
    unexplained = output_findings.of_outputs(tuple(summary.divergences.values()), summary.explained)
    findings = list(with_likely_nodes(unexplained, [each.model for each in handles]))
    claims = []
    for each in handles:
        for environment in each.environments.values():
            findings += output_findings.of_fallback(each.role, environment.facts)
            fallback = provider_fallback(environment.facts)
            if fallback is not None and not fallback.accepted:
                # What was asked about did not run.
                reason = message(
                    "UNKNOWN.fallback",
                    role=each.role,
                    used=fallback.used[0],
                    asked=fallback.asked[0],
                )
                claims.append(Claim(verdict=Verdict.UNKNOWN, reason=reason))
    return Outcome(findings=tuple(findings), claims=tuple(claims))


def _reason(summary: Summary, *, only_given: bool) -> str:
    """Why the verdict is what it is; inputs alone do not show that two functions are the same."""
    if only_given and summary.verdict is Verdict.EQUIVALENT:
        return message("EQUIVALENT.only_given")
    return summary.reason


def report_so_far(log: CheckLog, handles: Sequence[ModelHandle]) -> Report:
    """What is known by now, without measuring anything more."""
    summary, options = log.summary, log.options
    coverage = log.ledger.coverage
    divergences = tuple(without_numbers(e, coverage) for e in summary.divergences.values())
    hit = list(map(beyond, log.limits))
    if options.quick:
        hit.append(not_done("quick"))
    return Report(
        verdict=summary.verdict,
        reason=_reason(summary, only_given=options.only_given),
        only_given=options.only_given,
        quick=options.quick,
        translation_only=options.translation_only,
        not_run=log.not_run,
        translation=log.translation,
        command="check",
        seed=options.seed,
        draws=most_draws(divergences),
        false_alarm=FALSE_ALARM,
        strict=options.strict,
        models=tuple(each.summary for each in handles),
        environments={k: v for each in handles for k, v in each.environments.items()},
        inputs=tuple(
            each
            for sample in log.samples
            for each in feeding.summaries(sample.feeds, sample.origin, sample.kind)
        ),
        outputs=tuple(without_runs(each, log.not_run) for each in divergences),
        coverage=coverage,
        findings=output_findings.ranked(summary.findings),
        skipped=(*summary.skipped, *hit),
        trusted=options.trusted,
        elapsed={"total": time.monotonic() - log.started},
        cost=cost_so_far(),
        version=VERSION,
    )


@contextmanager
def logged_check(options: CheckConfig, *handles: ModelHandle) -> Iterator[CheckLog]:
    """A log for one check; an interruption carries the report of what is known by then."""
    log = CheckLog(options=options, handles=handles)
    try:
        with noted_limits() as log.limits:
            yield log
    except KeyboardInterrupt as stop:
        raise InterruptedCheck(_interrupted(log)) from stop


def _interrupted(log: CheckLog) -> Report:
    """The report of an unfinished check: unknown, unless a divergence was measured already."""
    summary = log.summary
    divergent = summary.verdict is Verdict.DIVERGENT
    reason = message("UNKNOWN.interrupted")
    if divergent:
        reason = message("VERDICT.interrupted", reason=summary.reason)
    log.add(Outcome(skipped=(not_done("rest"),)))
    log.decide(Verdict.DIVERGENT if divergent else Verdict.UNKNOWN, reason)
    return report_so_far(log, log.handles)
