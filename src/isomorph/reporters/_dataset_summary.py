"""A test set in a few lines: how many samples, the worst of them, the labels, the metric."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.dataset_summary import AxisProfile, OutputOverSamples, OverSamples
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.reporters._figures import number, times

MOST_OUTPUTS = 4


def over_samples(summary: OverSamples) -> Iterator[tuple[str, str]]:
    """Pairs of a label for the margin and a sentence."""
    yield (
        message("REPORT.test_set_label"),
        message("REPORT.test_set", location=printable(summary.location), samples=summary.samples),
    )
    for output in summary.outputs[:MOST_OUTPUTS]:
        yield f"  {printable(output.reference_output, limit=40)}", _output(output)
        for profile in output.by_axis:
            if profile.input is not None:
                yield "", _profile(profile)
    if len(summary.outputs) > MOST_OUTPUTS:
        yield "", message("REPORT.more_outputs", count=len(summary.outputs) - MOST_OUTPUTS)
    if summary.metric is not None:
        metric = summary.metric
        yield (
            "  metric",
            (
                message(
                    "REPORT.metric",
                    name=printable(metric.name),
                    reference=metric.reference,
                    candidate=metric.candidate,
                )
            ),
        )
    if summary.examined:
        names = ", ".join(printable(name, limit=40) for name in summary.examined)
        yield "  examined", message("REPORT.examined", names=names)


def _output(output: OutputOverSamples) -> str:
    parts = []
    if output.quantiles:
        median, most = output.quantiles.get("0.5"), output.quantiles.get("0.99")
        parts.append(message("REPORT.quantiles", median=number(median), most=number(most)))
    worst = f"worst {printable(output.worst, limit=40)}: {number(output.worst_relative)}"
    if output.worst_ratio is not None:
        worst += message("REPORT.and_of_budget", ratio=times(output.worst_ratio))
    parts.append(worst)
    if output.label_agreement is not None:
        parts.append(message("REPORT.top1", share=output.label_agreement))
    if output.not_finite:
        parts.append(message("REPORT.not_finite_samples", count=output.not_finite))
    if output.nonfinite_mismatch:
        parts.append(message("REPORT.not_finite_one_side", count=output.nonfinite_mismatch))
    if output.misshapen:
        parts.append(message("REPORT.other_shape_samples", count=output.misshapen))
    return "; ".join(parts)


def _profile(profile: AxisProfile) -> str:
    errors = profile.relative
    largest = max(range(len(errors)), key=lambda place: errors[place])
    return message(
        "REPORT.time_steps",
        axis=profile.axis,
        count=profile.length,
        input=printable(profile.input or ""),
        first=number(errors[0]),
        last=number(errors[-1]),
        most=number(errors[largest]),
        place=largest * profile.step,
    )
