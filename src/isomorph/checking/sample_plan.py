"""What makes the samples of a check itself, as decoding does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from isomorph.checking.prepare import PreparedPair
    from isomorph.checking.verdict import Outcome
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel


class SamplePlan(Protocol):
    """Makes the samples of a check itself, and adds what it learns from their comparisons."""

    def bound(self, prepared: PreparedPair) -> PreparedPair:
        """The pair, with the bindings that the plan stated marked as such."""

    def samples(self, prepared: PreparedPair) -> list[Sample]:
        """The samples to check, in their order."""

    def add(
        self,
        sample: Sample,
        comparison: Comparison,
        sides: tuple[EvaluatedModel, EvaluatedModel],
    ) -> None:
        """Take the comparison of a sample."""

    def outcome(self, prepared: PreparedPair) -> Outcome:
        """What all samples together show."""
