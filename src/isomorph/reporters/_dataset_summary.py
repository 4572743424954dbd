"""A test set in a few lines: how many samples, the worst of them, the labels, the metric."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.dataset_summary import AxisProfile, OutputOverSamples, OverSamples
from isomorph.core.escaping import printable
from isomorph.reporters._figures import number, times

MOST_OUTPUTS = 4


def over_samples(told: OverSamples) -> Iterator[tuple[str, str]]:
    """Pairs of a label for the margin and a sentence."""
    yield "test set", f"{printable(told.location)}: {told.samples} samples, run against run"
    for output in told.outputs[:MOST_OUTPUTS]:
        yield f"  {printable(output.reference_output, limit=40)}", _output(output)
        for profile in output.by_axis:
            if profile.input is not None:
                yield "", _profile(profile)
    if len(told.outputs) > MOST_OUTPUTS:
        yield "", f"… and {len(told.outputs) - MOST_OUTPUTS} more outputs: --format json"
    if told.metric is not None:
        metric = told.metric
        yield (
            "  metric",
            (
                f"{printable(metric.name)}: reference {metric.reference:.6g}, "
                f"candidate {metric.candidate:.6g}"
            ),
        )
    if told.examined:
        names = ", ".join(printable(name, limit=40) for name in told.examined)
        yield "  examined", f"looked into beyond their outputs: {names}"


def _output(output: OutputOverSamples) -> str:
    told = []
    if output.quantiles:
        median, most = output.quantiles.get("0.5"), output.quantiles.get("0.99")
        told.append(f"relative error {number(median)} (median), {number(most)} (99%)")
    worst = f"worst {printable(output.worst, limit=40)}: {number(output.worst_relative)}"
    if output.worst_ratio is not None:
        worst += f", {times(output.worst_ratio)} its budget"
    told.append(worst)
    if output.label_agreement is not None:
        told.append(f"largest element agrees in {output.label_agreement:.2%}")
    if output.not_finite:
        told.append(f"NaN/Inf in {output.not_finite} samples")
    if output.nonfinite_mismatch:
        told.append(f"on one side only in {output.nonfinite_mismatch}")
    if output.misshapen:
        told.append(f"another shape in {output.misshapen} samples")
    return "; ".join(told)


def _profile(profile: AxisProfile) -> str:
    errors = profile.relative
    largest = max(range(len(errors)), key=lambda place: errors[place])
    return (
        f"axis {profile.axis}, {profile.length} steps as in {printable(profile.input or '')}: "
        f"{number(errors[0])} at the first, {number(errors[-1])} at the last, "
        f"{number(errors[largest])} at step {largest * profile.step}"
    )
