"""Keep the worst sample, and measure what is measured on one sample only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, Verdict
from isomorph.measure.quantized_tensors import table

if TYPE_CHECKING:
    from isomorph.core.dataset_summary import OverSamples
    from isomorph.core.quantized_tensor import QuantizedTensor
    from isomorph.core.report import Skipped
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.evaluated_model import EvaluatedModel

SEVERITY = (Verdict.EQUIVALENT, Verdict.DEGRADED, Verdict.UNKNOWN, Verdict.DIVERGENT)


def weight(divergence: Divergence) -> tuple[int, float]:
    """Return the severity: by verdict first, then by the used share of a budget."""
    parts = (divergence.rounding, divergence.observed, divergence.execution_candidate)
    ratios = [part.budget.ratio or 0.0 for part in parts if part is not None]
    return SEVERITY.index(divergence.verdict), max(ratios, default=0.0)


@dataclass(slots=True, kw_only=True)
class Worst:
    """The worst sample so far; ``chosen_from`` is the test set of the samples."""

    chosen_from: OverSamples | None = None
    _ratios: dict[tuple[str, str], float] = field(default_factory=dict)
    _weight: tuple[int, float] | None = None
    _models: tuple[EvaluatedModel, EvaluatedModel | None] | None = None
    _outputs: tuple[Divergence, ...] = ()

    def remember(
        self,
        sample: Sample,
        divergences: Sequence[Divergence],
        candidate: EvaluatedModel,
        reference: EvaluatedModel | None,
    ) -> None:
        """Record one sample; its models are kept if none was worse."""
        self.note(sample.origin, divergences)
        found = max(map(weight, divergences), default=(0, 0.0))
        if self._weight is None or found > self._weight:
            self._weight, self._models = found, (candidate, reference)
            self._outputs = tuple(divergences)

    def note(self, origin: str, divergences: Sequence[Divergence]) -> None:
        """Record how much of its budget each output uses on a sample."""
        for each in divergences:
            part = each.intended_loss or each.observed
            if part is not None and part.budget.ratio is not None and each.reference_output:
                self._ratios[origin, each.reference_output] = part.budget.ratio

    def quantization(
        self, *, asked: bool | None
    ) -> tuple[tuple[QuantizedTensor, ...], tuple[Skipped, ...]]:
        """Return the quantized tensors of the candidate, unless the user disabled them."""
        if self._models is None or asked is False:
            return (), ()
        return table(*self._models, everything=bool(asked), outputs=self._outputs)

    def test_set(self, examined: Sequence[Sample]) -> OverSamples | None:
        """Return the test set with its worst errors relative to these samples' budgets."""
        if self.chosen_from is None:
            return None
        outputs = tuple(
            replace(each, worst_ratio=self._ratios.get((each.worst, each.reference_output)))
            for each in self.chosen_from.outputs
        )
        names = tuple(sample.origin for sample in examined)
        return replace(self.chosen_from, outputs=outputs, examined=names)
