"""What a running check has established so far: enough for a report at any time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Claim, Outcome, Summary, extended, not_run_here
from isomorph.core.coverage import concluded
from isomorph.core.divergence import Verdict
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.progress import begin_step
from isomorph.core.report import NotRun
from isomorph.measure.ledger import Accounts

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.limits import Limit
    from isomorph.core.model import TensorSpec
    from isomorph.core.report import Binding
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(slots=True, kw_only=True)
class CheckLog:
    """The options and models of a check, and what its phases have returned so far."""

    options: CheckConfig
    handles: tuple[ModelHandle, ...]
    summary: Summary = field(default_factory=Summary)
    samples: list[Sample] = field(default_factory=list)
    ledger: Accounts = field(default_factory=Accounts)
    limits: Mapping[Limit, None] = field(default_factory=dict)
    """The limits that were hit."""
    started: float = field(default_factory=time.monotonic)
    translation: Verdict | None = None
    """What the graphs amount to, where this machine cannot run a model."""

    def add(self, outcome: Outcome) -> None:
        """Take over the outcome of a phase."""
        self.summary = extended(self.summary, outcome)

    def decide(self, verdict: Verdict, reason: str) -> None:
        """Replace the verdict of the phases."""
        self.summary = replace(self.summary, verdict=verdict, reason=reason)

    def conclude(self) -> None:
        """Lower the verdict if an output was not compared on every sample, or a model not run."""
        self.decide(*concluded(self.summary.verdict, self.summary.reason, self.ledger.coverage))
        verdict = self.summary.verdict
        if self.not_run and verdict is not Verdict.UNKNOWN:
            self.translation = verdict
            asked = self.options.translation_only
            self.decide(*not_run_here(verdict, self.summary.reason, self.not_run, asked=asked))

    @property
    def not_run(self) -> tuple[NotRun, ...]:
        """The models that this machine cannot run."""
        return tuple(
            NotRun(role=each.role, runtime=each.runtime, why=each.unavailable)
            for each in self.handles
            if each.unavailable
        )

    def expect(
        self, outputs: Sequence[TensorSpec], bound: Sequence[Binding], *, interface: bool = True
    ) -> None:
        """Require every one of these outputs; one that the candidate lacks is a divergence."""
        names = [spec.name for spec in outputs]
        missing = self.ledger.expect(names, bound, interface=interface)
        claims = (
            Claim(
                verdict=each.verdict,
                reason=message("DIVERGENT.output_missing", output=each.reference_output),
            )
            for each in missing
        )
        self.add(Outcome(divergences=tuple(missing), claims=tuple(claims)))

    def each_sample(self, samples: Sequence[Sample]) -> Iterator[Sample]:
        """The samples in turn; once a runtime has died, the others are skipped."""
        # Loading comes before the samples, and the report after them.
        count = len(samples) + 2
        for number, sample in enumerate(samples, start=2):
            begin_step(self.options.on_progress, number, count)
            if self.summary.abort_reason:
                skipped = not_done("inputs", self.summary.abort_reason, origin=sample.origin)
                self.add(Outcome(skipped=(skipped,)))
                continue
            self.samples.append(sample)
            self.ledger.open(sample)
            yield sample
            self.ledger.close()
        begin_step(self.options.on_progress, count, count)
