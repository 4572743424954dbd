"""The sample that went worst, and what is measured on one sample only."""

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
    """How bad it is: by verdict first, then by how much of a budget is used up."""
    parts = (divergence.rounding, divergence.observed, divergence.execution_candidate)
    ratios = [part.budget.ratio or 0.0 for part in parts if part is not None]
    return SEVERITY.index(divergence.verdict), max(ratios, default=0.0)


@dataclass(slots=True, kw_only=True)
class Worst:
    """Kept while the samples are compared; ``chosen_from`` is the test set they are from."""

    chosen_from: OverSamples | None = None
    _ratios: dict[tuple[str, str], float] = field(default_factory=dict)
    _weight: tuple[int, float] | None = None
    _subjects: tuple[EvaluatedModel, EvaluatedModel | None] | None = None
    _outputs: tuple[Divergence, ...] = ()

    def remember(
        self,
        sample: Sample,
        divergences: Sequence[Divergence],
        candidate: EvaluatedModel,
        reference: EvaluatedModel | None,
    ) -> None:
        """Take note of one sample; its subjects are kept if none was worse."""
        self.note(sample.origin, divergences)
        found = max(map(weight, divergences), default=(0, 0.0))
        if self._weight is None or found > self._weight:
            self._weight, self._subjects = found, (candidate, reference)
            self._outputs = tuple(divergences)

    def note(self, origin: str, divergences: Sequence[Divergence]) -> None:
        """Keep how much of its budget each output uses on a sample."""
        for each in divergences:
            part = each.intended_loss or each.observed
            if part is not None and part.budget.ratio is not None and each.reference_output:
                self._ratios[origin, each.reference_output] = part.budget.ratio

    def quantization(
        self, *, asked: bool | None
    ) -> tuple[tuple[QuantizedTensor, ...], tuple[Skipped, ...]]:
        """The quantized tensors of the candidate, unless the user does not want them."""
        if self._subjects is None or asked is False:
            return (), ()
        return table(*self._subjects, everything=bool(asked), outputs=self._outputs)

    def test_set(self, examined: Sequence[Sample]) -> OverSamples | None:
        """The test set, its worst errors held against the budgets derived on these samples."""
        if self.chosen_from is None:
            return None
        outputs = tuple(
            replace(each, worst_ratio=self._ratios.get((each.worst, each.reference_output)))
            for each in self.chosen_from.outputs
        )
        names = tuple(sample.origin for sample in examined)
        return replace(self.chosen_from, outputs=outputs, examined=names)
