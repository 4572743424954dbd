"""Checks of a patched model in short: on which inputs, and how far each output is off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.patch import Measured, MeasuredOutput

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.report import Report
    from isomorph.stages.run.feeds import Sample


def measured_on(
    samples: Sequence[Sample] | None, reports: Sequence[Report]
) -> tuple[Measured, ...]:
    """What was measured, with the inputs it was measured on where they are told."""
    origins = [each.origin for each in samples] if samples is not None else [""] * len(reports)
    return tuple(_measured(o, r) for o, r in zip(origins, reports, strict=False))


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
