"""The candidate on its own caches and tokens, beside the reference on its own.

Up to the first token that differs both have read the same text, and their caches differ by
rounding alone. How far that moves the logits is measured where all of that text is read in one
step: there the rounding of every position reaches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.decoding import OwnDecoding, TokenJudgment
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.decoding.rollout import StepRun, decode, runner, whole_text
from isomorph.decoding.signature import DecoderSignature, Role
from isomorph.decoding.step_feeds import State, step_feeds
from isomorph.decoding.token_choices import choice, judged_logits, rounding_of_difference

if TYPE_CHECKING:
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.decoding import TokenChoice
    from isomorph.core.trace import Array
    from isomorph.decoding.step_collector import StepCollector
    from isomorph.measure.evaluated_model import EvaluatedModel

Signatures = tuple[DecoderSignature, DecoderSignature]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """The candidate's steps on its own caches, and why there are no more of them."""

    scores: tuple[Array, ...]
    """The logits that each decoded token was chosen from."""
    failure: str = ""


def own_run(
    prepared: PreparedPair,
    signature: DecoderSignature,
    reference: Sequence[StepRun],
    *,
    steps: int,
    at_once: int | None,
) -> OwnRun:
    """Decode with the candidate, from the state in which the reference began."""
    scores: list[Array] = []
    try:
        first = _first_state(prepared, signature, reference)
        for run in decode(runner(prepared.candidate), signature, first, steps, at_once=at_once):
            if run.number == 0:
                scores = [run.scores]  # the last of the prompt chooses the first token
            else:
                scores.append(run.scores)
    except IsomorphError as error:
        return OwnRun(scores=tuple(scores), failure=error.sentence)
    return OwnRun(scores=tuple(scores))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnComparison:
    """The steps of both sides on their own caches, and those on the reference's."""

    prepared: PreparedPair
    signatures: Signatures
    reference: Sequence[StepRun]
    own: OwnRun
    collector: StepCollector
    at_once: bool
    """Whether all of a text can be read in one step."""

    def compared(self) -> OwnDecoding:
        """The tokens of both sides, and what explains the first that differs."""
        scored = [run.scores for run in _choosing(self.reference)]
        tokens = [np.argmax(each, axis=1) for each in scored]
        others = [np.argmax(each, axis=1) for each in self.own.scores]
        found = OwnDecoding(
            reference=_rows(tokens), candidate=_rows(others), failure=self.own.failure
        )
        for place, (one, other) in enumerate(zip(tokens, others, strict=False)):
            differing = np.flatnonzero(one != other)
            if differing.size:
                chosen = self._judged(place, int(differing[0]), scored[place])
                return replace(found, first_different=place + 1, choice=chosen)
        return found

    def _judged(self, place: int, row: int, scores: Array) -> TokenChoice:
        """The first different token, judged by the rounding of all of the text before it."""
        steps = self.collector.steps[-len(_choosing(self.reference)) :]
        models = self.prepared.reference.model, self.prepared.candidate.model
        graphs = [model.graph for model in models]
        verdicts = [judged_logits(graphs, step.verdict) for step in steps[: place + 1]]
        lossy = Verdict.DIVERGENT not in verdicts and Verdict.DEGRADED in verdicts
        sides = self._on_whole_text(place) if self.at_once else None
        names = self.signatures[0].logits, self.signatures[1].logits
        found = choice(
            row,
            scores[row],
            self.own.scores[place][row],
            Verdict.DEGRADED if lossy else Verdict.DIVERGENT,
            (lambda *_: None) if sides is None else rounding_of_difference(sides, names),
        )
        if found.allowed is None and found.judgment is TokenJudgment.WRONG:
            return replace(found, judgment=TokenJudgment.OPEN)
        return found

    def _on_whole_text(self, place: int) -> tuple[EvaluatedModel, EvaluatedModel] | None:
        """Both models on all of the text up to this token, read in one step."""
        prepared, first = self.prepared, self.reference[0].state
        chosen = [run.chosen[:, None] for run in _choosing(self.reference)[:place]]
        state = whole_text(first, np.concatenate(chosen, axis=1)) if chosen else first
        feeds = step_feeds(self.signatures[0], state)
        ref = prepared.evaluated(prepared.reference, prepared.reference.real(feeds))
        if isinstance(ref.runtime_outputs(), IsomorphError):
            return None
        return ref, prepared.evaluated(prepared.candidate, prepared.arrange(ref).feeds)


def own_outcome(own: OwnDecoding, collector: StepCollector) -> Outcome:
    """A finding where decoding on its own caches shows what the single steps do not."""
    if own.failure:
        finding = Finding(
            code="OWN_CACHE",
            status=FindingStatus.CONFIRMED,
            effect=FindingEffect.REACHES_OUTPUT,
            summary=message("OWN_CACHE.failed", why=own.failure),
        )
        claim = Claim(verdict=Verdict.UNKNOWN, reason=finding.summary)
        return Outcome(findings=(finding,), claims=(claim,))
    wrong = own.choice is not None and own.choice.judgment is TokenJudgment.WRONG
    if own.choice is None or not wrong or collector.differs:
        return Outcome()
    finding = Finding(
        code="OWN_CACHE",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=message(
            "OWN_CACHE.token",
            now=own.choice.candidate,
            right=own.choice.reference,
            place=own.first_different,
        ),
        evidence={"margin": own.choice.margin, "allowed": own.choice.allowed},
    )
    reason = message("DIVERGENT.other_text")
    return Outcome(findings=(finding,), claims=(Claim(verdict=Verdict.DIVERGENT, reason=reason),))


def _first_state(
    prepared: PreparedPair, signature: DecoderSignature, reference: Sequence[StepRun]
) -> State:
    """The state in which the reference began, under the candidate's names, types and axes."""
    prompt = [run for run in reference if run.number == 0]
    evaluated = prepared.evaluated(prepared.reference, prepared.reference.real(prompt[0].feeds))
    carried = prepared.arrange(evaluated).feeds
    return replace(
        prompt[0].state,
        tokens=np.concatenate([run.state.tokens for run in prompt], axis=1),
        mask=prompt[-1].state.mask,
        caches={pair.input: carried[pair.input] for pair in signature.caches},
        constants={spec.name: carried[spec.name] for spec in signature.of_role(Role.CONSTANT)},
    )


def _choosing(runs: Sequence[StepRun]) -> list[StepRun]:
    """The steps that chose a token: the last of the prompt, then every other one."""
    prompt = [run for run in runs if run.number == 0]
    return [prompt[-1], *(run for run in runs if run.number)]


def _rows(tokens: Sequence[Array]) -> tuple[tuple[int, ...], ...]:
    if not tokens:
        return ()
    return tuple(tuple(int(each) for each in row) for row in np.stack(tokens, axis=1))
