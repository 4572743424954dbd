"""A test set in a few lines: how many samples, the worst of them, the labels, the metric."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.dataset_summary import AxisProfile, OutputOverSamples, OverSamples
from isomorph.core.escaping import printable
from isomorph.reporters._figures import number, times

MOST_OUTPUTS = 4


def over_samples(summary: OverSamples) -> Iterator[tuple[str, str]]:
    """Pairs of a label for the margin and a sentence."""
    yield "test set", f"{printable(summary.location)}: {summary.samples} samples, run against run"
    for output in summary.outputs[:MOST_OUTPUTS]:
        yield f"  {printable(output.reference_output, limit=40)}", _output(output)
        for profile in output.by_axis:
            if profile.input is not None:
                yield "", _profile(profile)
    if len(summary.outputs) > MOST_OUTPUTS:
        yield "", f"… and {len(summary.outputs) - MOST_OUTPUTS} more outputs: --format json"
    if summary.metric is not None:
        metric = summary.metric
        yield (
            "  metric",
            (
                f"{printable(metric.name)}: reference {metric.reference:.6g}, "
                f"candidate {metric.candidate:.6g}"
            ),
        )
    if summary.examined:
        names = ", ".join(printable(name, limit=40) for name in summary.examined)
        yield "  examined", f"looked into beyond their outputs: {names}"


def _output(output: OutputOverSamples) -> str:
    parts = []
    if output.quantiles:
        median, most = output.quantiles.get("0.5"), output.quantiles.get("0.99")
        parts.append(f"relative error {number(median)} (median), {number(most)} (99%)")
    worst = f"worst {printable(output.worst, limit=40)}: {number(output.worst_relative)}"
    if output.worst_ratio is not None:
        worst += f", {times(output.worst_ratio)} its budget"
    parts.append(worst)
    if output.label_agreement is not None:
        parts.append(f"largest element agrees in {output.label_agreement:.2%}")
    if output.not_finite:
        parts.append(f"NaN/Inf in {output.not_finite} samples")
    if output.nonfinite_mismatch:
        parts.append(f"on one side only in {output.nonfinite_mismatch}")
    if output.misshapen:
        parts.append(f"another shape in {output.misshapen} samples")
    return "; ".join(parts)


def _profile(profile: AxisProfile) -> str:
    errors = profile.relative
    largest = max(range(len(errors)), key=lambda place: errors[place])
    return (
        f"axis {profile.axis}, {profile.length} steps as in {printable(profile.input or '')}: "
        f"{number(errors[0])} at the first, {number(errors[-1])} at the last, "
        f"{number(errors[largest])} at step {largest * profile.step}"
    )
