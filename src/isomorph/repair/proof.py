"""Checks of a patched model in short: on which inputs, and how far each output is off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.divergence import Verdict
from isomorph.core.repair import Measured, MeasuredOutput
from isomorph.core.stated_numbers import MUCH_WORSE

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.limits import Limit
    from isomorph.core.repair import Repair
    from isomorph.core.report import Report
    from isomorph.inputs.feeds import Sample

GOOD = frozenset({Verdict.EQUIVALENT, Verdict.DEGRADED})


def trusted(reports: Sequence[Report]) -> bool:
    """Whether every sample is good."""
    return all(report.verdict in GOOD for report in reports)


def measured_on(
    samples: Sequence[Sample] | None, reports: Sequence[Report]
) -> tuple[Measured, ...]:
    """The measurements, each with its inputs."""
    if samples is None:
        return tuple(_measured("", report) for report in reports)
    pairs = measured_pairs(samples, reports)
    return tuple(_measured(sample.origin, report) for sample, report in pairs)


def measured_pairs(
    samples: Sequence[Sample], reports: Sequence[Report]
) -> Iterator[tuple[Sample, Report]]:
    """Each report with its sample; a measurement ends at the first bad sample."""
    return zip(samples[: len(reports)], reports, strict=True)


def _measured(origin: str, report: Report) -> Measured:
    return Measured(
        origin=origin,
        verdict=report.verdict,
        reason=report.reason,
        outputs=tuple(_measured_output(each) for each in report.outputs),
    )


def _measured_output(found: Divergence) -> MeasuredOutput:
    part = found.intended_loss or found.rounding
    # Under a budget of the user's own, the runs alone are compared.
    seen = found.translation or found.observed
    distance = seen.distance if seen is not None else None
    return MeasuredOutput(
        reference_output=found.reference_output,
        candidate_output=found.candidate_output,
        verdict=found.verdict,
        max_abs=distance.max_abs if distance is not None else None,
        relative_l2=distance.relative_l2 if distance is not None else None,
        times_over_budget=part.budget.ratio if part is not None else None,
    )


def with_limits(done: Repair, hit: Iterable[Limit]) -> Repair:
    """A repair that failed, with what was not tried beside what was refused."""
    if done.repaired:
        return done
    left_out = [f"{limit.left_out}: {limit.why}" for limit in hit]
    return replace(done, refused=(*done.refused, *left_out))


def much_worse(before: Sequence[Report], after: Sequence[Report]) -> bool:
    """Whether some output is much farther off than it was, on any sample measured twice."""
    both = min(len(before), len(after))  # each ends at its first bad sample
    for old, new in zip(before[:both], after[:both], strict=True):
        if new.verdict is Verdict.UNKNOWN and old.verdict is not Verdict.UNKNOWN:
            return True
        was = {(d.reference_output, d.candidate_output): _off(d) for d in old.outputs}
        for divergence in new.outputs:
            key = divergence.reference_output, divergence.candidate_output
            bad = key in was and divergence.verdict not in GOOD
            if bad and _off(divergence) > MUCH_WORSE * was[key]:
                return True
    return False


def _off(divergence: Divergence) -> float:
    part = divergence.rounding
    return float(part.budget.ratio or 0.0) if part is not None else float("inf")
