"""What the check of each step showed: the logits, the tokens, and every cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.decoding import CacheErrors, DecodingStep
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.decoding.rollout import last_scores
from isomorph.decoding.token_choices import (
    choices,
    judged_logits,
    rounding_of_difference,
    top_k_agreement,
)

if TYPE_CHECKING:
    from isomorph.core.decoding import CachePair
    from isomorph.core.trace import Array
    from isomorph.decoding.rollout import StepRun
    from isomorph.decoding.signature import DecoderSignature
    from isomorph.measure.compare import Comparison
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(slots=True, kw_only=True)
class StepCollector:
    """Takes the comparison of each step, and keeps what the report shows of it."""

    signature: DecoderSignature
    """Of the reference."""
    steps: list[DecodingStep] = field(default_factory=list)
    divergences: list[dict[str, Divergence]] = field(default_factory=list)
    """Of each step, by output of the reference."""

    def add(
        self, run: StepRun, comparison: Comparison, sides: tuple[EvaluatedModel, EvaluatedModel]
    ) -> None:
        """Take one compared step."""
        found = {each.reference_output or "": each for each in comparison.divergences}
        self.divergences.append(found)
        self.steps.append(self._step(run, found.get(self.signature.logits), sides))

    def add_uncompared(self, run: StepRun) -> None:
        """Take a step on which the models could not be compared."""
        self.divergences.append({})
        self.steps.append(_plain_step(run))

    def _step(
        self,
        run: StepRun,
        logits: Divergence | None,
        sides: tuple[EvaluatedModel, EvaluatedModel],
    ) -> DecodingStep:
        plain = _plain_step(run)
        if logits is None or logits.candidate_output is None:
            return plain
        names = self.signature.logits, logits.candidate_output
        seen = [_scores(side, name) for side, name in zip(sides, names, strict=True)]
        own, other = seen
        error, ratio = _figures(logits)
        if own is None or other is None or own.shape != other.shape:
            return DecodingStep(
                number=plain.number, cached=plain.cached, tokens=plain.tokens,
                verdict=logits.verdict, error=error, ratio=ratio,
            )  # fmt: skip
        return DecodingStep(
            number=plain.number,
            cached=plain.cached,
            tokens=plain.tokens,
            verdict=logits.verdict,
            error=error,
            ratio=ratio,
            choices=choices(
                own,
                other,
                judged_logits([side.model.graph for side in sides], logits.verdict),
                rounding_of_difference(sides, names),
            ),
            top_k=top_k_agreement(own, other),
        )

    def caches(self) -> tuple[CacheErrors, ...]:
        """Every cache of the reference over all steps."""
        return tuple(self._cache(pair) for pair in self.signature.caches)

    def _cache(self, pair: CachePair) -> CacheErrors:
        found = [step.get(pair.output) for step in self.divergences]
        verdicts = tuple(None if each is None else each.verdict for each in found)
        figures = [(None, None) if each is None else _figures(each) for each in found]
        wrong = [at for at, verdict in enumerate(verdicts) if verdict is Verdict.DIVERGENT]
        names = [each.candidate_output for each in found if each is not None]
        return CacheErrors(
            reference=pair.output,
            candidate=next((name for name in names if name), ""),
            layer=pair.layer,
            part=pair.part,
            verdicts=verdicts,
            errors=tuple(error for error, _ in figures),
            ratios=tuple(ratio for _, ratio in figures),
            first_wrong=wrong[0] if wrong else None,
        )

    @property
    def differs(self) -> bool:
        """Whether a step on the reference's caches differs beyond rounding."""
        return any(
            each.verdict is Verdict.DIVERGENT for step in self.divergences for each in step.values()
        )


def first_wrong(caches: Sequence[CacheErrors]) -> int | None:
    """The place of the first cache that is wrong: by step, then by layer and order."""
    wrong = [
        (each.first_wrong, each.layer, at)
        for at, each in enumerate(caches)
        if each.first_wrong is not None
    ]
    return min(wrong)[2] if wrong else None


def _plain_step(run: StepRun) -> DecodingStep:
    return DecodingStep(number=run.number, cached=run.state.cached, tokens=run.state.length)


def _figures(divergence: Divergence) -> tuple[float | None, float | None]:
    """The largest error of the runs, and the error by the budget that decided."""
    observed = divergence.observed
    if observed is None:
        return None, None
    judged = divergence.intended_loss or observed
    if divergence.verdict is Verdict.DIVERGENT and divergence.intended_loss is None:
        # The graphs may differ by more than the runs show.
        terms = [each for each in (observed, divergence.rounding) if each is not None]
        judged = max(terms, key=lambda each: each.budget.ratio or 0.0)
    return observed.distance.max_abs, judged.budget.ratio


def _scores(side: EvaluatedModel, name: str) -> Array | None:
    outputs = side.runtime_outputs()
    if isinstance(outputs, IsomorphError) or name not in outputs:
        return None
    return last_scores(np.asarray(outputs[name]))
