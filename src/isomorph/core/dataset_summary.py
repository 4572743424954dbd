"""What a test set shows: every output over all samples, and the user's own metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isomorph.core.constraints import Count, PositiveCount


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisProfile:
    """The relative error at each index of one axis of an output, over all samples.

    ``input`` names an input with an axis of this length: a time step, most likely. A long axis
    is given in groups of ``step`` neighbors. Infinite where all that is expected is zero.
    """

    axis: Count
    length: Count
    relative: tuple[float, ...]
    step: PositiveCount = 1
    input: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOverSamples:
    """One pair of outputs, run against run, over all samples.

    ``worst`` is the sample of the largest error and ``worst_relative`` its relative L2 distance;
    ``worst_ratio`` holds that error against the budget derived on this very sample, where that
    was done. ``quantiles`` are of the relative error, by probability. ``label_agreement`` is the
    share of rows whose largest element is the same. ``not_finite`` counts samples with NaN or an
    infinity on any side, ``nonfinite_mismatch`` those where only one side has it.
    """

    reference_output: str
    candidate_output: str
    samples: Count
    worst: str
    worst_absolute: float | None
    worst_relative: float | None
    worst_ratio: float | None = None
    """By the budget derived on the worst sample."""
    quantiles: Mapping[str, float] = field(default_factory=dict)
    """Of the relative error, by probability."""
    label_agreement: float | None = None
    not_finite: Count = 0
    nonfinite_mismatch: Count = 0
    misshapen: Count = 0
    by_axis: tuple[AxisProfile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricOverSamples:
    """The user's own metric, averaged over the samples, on both sides."""

    name: str
    samples: Count
    reference: float
    candidate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OverSamples:
    """A whole test set; ``examined`` are the samples that the full check was made on."""

    location: str
    samples: Count
    outputs: tuple[OutputOverSamples, ...] = ()
    metric: MetricOverSamples | None = None
    examined: tuple[str, ...] = ()
    """The samples that the full check was made on."""
