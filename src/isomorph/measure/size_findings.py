"""Findings about sizes of dynamic axes: right at one size, wrong at another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.report import Finding, FindingEffect, FindingStatus, Skipped

if TYPE_CHECKING:
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.evaluated_model import EvaluatedModel


_USUAL = "the usual sizes"


@dataclass(slots=True)
class Sized:
    """Collects which sizes were right and which were wrong, sample by sample."""

    stated: bool = False
    """Whether the user named the sizes: then all of them are tried."""
    right: list[str] = field(default_factory=list)
    wrong: list[tuple[Sample, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    usual: bool = True
    """Whether the models agree at the usual sizes, as far as they were measured there."""
    lost: bool = False
    """Whether nothing could be measured at the usual sizes."""
    node: str | None = None
    """The node at which the candidate failed."""

    def refused(self, sample: Sample, reference: EvaluatedModel) -> bool:
        """Whether these sizes prove nothing: the reference rejects them, or all sizes fail.

        Models that differ at the usual sizes are examined there, unless others were requested.
        """
        if not sample.sizes:
            return False
        if not self.usual and not self.stated:
            why = message("SKIPPED.usual_sizes.why")
            self.skipped.append(not_done("sizes", why, sizes=_sizes_text(sample)))
            return True
        ran = reference.runtime_outputs()
        if not isinstance(ran, IsomorphError):
            return False
        why = message("SKIPPED.refused_sizes.why", error=ran.sentence)
        self.skipped.append(not_done("sizes", why, sizes=_sizes_text(sample)))
        return True

    def failed(self, sample: Sample, candidate: EvaluatedModel) -> bool:
        """Whether the candidate fails at sizes that it declares and the reference accepts."""
        ran = candidate.runtime_outputs() if sample.sizes else None
        if not isinstance(ran, IsomorphError):
            return False
        self.wrong.append((sample, message("SHAPE_DEPENDENT.refused", why=ran.sentence)))
        self.node = self.node or ran.node
        return True

    def note(self, sample: Sample, divergences: Sequence[Divergence]) -> None:
        """Record one sample that both models ran."""
        apart = [each for each in divergences if each.verdict is Verdict.DIVERGENT]
        if not sample.sizes:
            self.usual = self.usual and not apart
            self.lost = self.lost or any(_unmeasured(each) for each in divergences)
        elif apart:
            self.wrong.append((sample, apart[0].reason))
        else:
            self.right.append(_sizes_text(sample))

    def findings(self) -> Iterator[Finding]:
        """Yield one finding with the smallest failing size, if other sizes are right.

        What fails at every size does not depend on sizes, and is reported otherwise.
        """
        agreed = [*([] if self.lost or not self.usual else [_USUAL]), *self.right]
        if not agreed or (self.usual and not self.wrong):
            return
        place, reason, smallest = _USUAL, "see the outputs", {}
        if self.wrong:
            sample, reason = self.wrong[0]
            place, smallest = _sizes_text(sample), dict(sample.sizes)
        right = ", ".join(agreed)
        yield Finding(
            code="SHAPE_DEPENDENT",
            cause="shape",
            status=FindingStatus.CONFIRMED,
            effect=FindingEffect.REACHES_OUTPUT,
            node=self.node,
            summary=message("SHAPE_DEPENDENT.sizes", right=right, wrong=place, reason=reason),
            evidence={
                "smallest": smallest,
                "wrong": [dict(each.sizes) for each, _ in self.wrong],
            },
            fix=message("FIX.dynamic_or_sizes"),
        )


def _unmeasured(divergence: Divergence) -> bool:
    return divergence.verdict is Verdict.UNKNOWN and divergence.observed is None


def _sizes_text(sample: Sample) -> str:
    return ", ".join(f"{axis}={size}" for axis, size in sample.sizes.items())
