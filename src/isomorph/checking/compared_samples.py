"""What the samples that were compared before have settled for those behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.checking.compare import LossStudy
from isomorph.checking.verdict import Outcome

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.inputs.feeds import Sample
    from isomorph.localize.probe_search import Probed
    from isomorph.localize.weight_effect import ConstantExperiment
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSample:
    """A compared sample, with both models on it."""

    sample: Sample
    comparison: Comparison
    sides: tuple[EvaluatedModel, EvaluatedModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSamples:
    """What the samples before have settled; each of these is done once in a check."""

    outputs: tuple[Binding, ...]
    loss: LossStudy = field(default_factory=LossStudy)
    located: bool = False
    located_again: bool = False
    """Whether faults were searched for at a second step of decoding."""
    probed: Probed | None = None
    experiment: ConstantExperiment | None = None
    run_loss: Outcome = field(default_factory=Outcome)
    """Nodes whose activations the candidate's runtime quantizes; no fault at them is explained."""
    not_finite: EvaluatedModel | None = None
    """The reference on a sample of which an output is NaN or infinite everywhere."""
    first_step: ComparedSample | None = None
    """Of decoding; it is described in detail unless faults are located at another step."""
