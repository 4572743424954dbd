"""What the report shows of one chosen sample: the alignment, the profile, quantized tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.localize.alignment_builder import Aligner
from isomorph.localize.profile import ProfileCollector
from isomorph.measure.worst_sample import Worst

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.verdict import Outcome
    from isomorph.inputs.feeds import Sample
    from isomorph.localize.fault import Fault
    from isomorph.localize.locate import Located
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Collectors:
    """Each keeps the sample that it will measure when the report is made."""

    worst: Worst
    aligner: Aligner
    profile: ProfileCollector
    known_faults: list[Fault] = field(default_factory=list)
    below_rounding: list[Outcome] = field(default_factory=list)
    """What the search for nodes found that differ by less than rounding shows; done once."""

    @classmethod
    def of(cls, options: CheckConfig) -> Collectors:
        """Empty collectors for what the options ask for."""
        return cls(
            worst=Worst(),
            aligner=Aligner(requested=options.align, on_progress=options.on_progress),
            profile=ProfileCollector(requested=options.profile, on_progress=options.on_progress),
        )

    def add_faults(self, candidate: EvaluatedModel, located: Located) -> None:
        """The faults that were located on a sample of this candidate."""
        self.known_faults.extend(located.chain.faults)
        self.profile.found(candidate, located)
        self.aligner.found(located)

    def add_sample(
        self,
        sample: Sample,
        comparison: Comparison,
        candidate: EvaluatedModel,
        reference: EvaluatedModel | None,
    ) -> None:
        """One compared sample; a model alone has no reference."""
        self.aligner.remember(reference, candidate)
        self.worst.remember(sample, comparison.divergences, candidate, reference)
        outputs = [(pair.reference, pair.candidate) for pair in comparison.bindings]
        sides = reference, candidate
        self.profile.remember(sample.origin, sides, outputs, comparison.divergences)
