"""Decoding token by token: the caches of a decoder, and how two models fared at every step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from isomorph.core.constraints import Count, Probability
from isomorph.core.divergence import Verdict


class CachedBy(StrEnum):
    """How an input and an output of one model were recognized as one cache."""

    USER = "stated by the user"
    NAME = "names"
    DATA_FLOW = "data flow"
    ORDER = "order and shapes"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePair:
    """An input of a model that takes what one of its outputs returned at the step before.

    ``axis`` is the one that the cached positions are on.
    """

    input: str
    output: str
    axis: Count
    layer: Count
    """Its place in the order of layers."""
    part: str = ""
    """What it holds, as far as its name tells: ``key``, ``value``, ``encoder key``."""
    how: CachedBy


class Start(StrEnum):
    """What the caches held before the first tokens."""

    EMPTY = "empty caches"
    BUFFER = "buffers of zeros"
    """Caches of a fixed length, of which positions are written one after the other."""
    GENERATED = "generated caches"
    """The model does not run on empty ones."""
    GIVEN = "given caches"
    NONE = "no caches"
    """The model has none: each step takes all tokens so far."""


class TokenJudgment(StrEnum):
    """The candidate's token beside the reference's."""

    SAME = "same"
    TIE = "tie"
    """Another token, and the two logits are no farther apart than rounding explains."""
    LOSS = "within the intended loss"
    """Another token; a run is of lower precision, and within what that may lose."""
    WRONG = "wrong"
    """Another token, and rounding does not explain it."""
    OPEN = "not judged"
    """Another token; what rounding explains there could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenChoice:
    """The token of the largest logit, on both sides, in one row of the batch.

    ``margin`` is by how much the reference prefers its own token to the candidate's, or to its
    second choice where the tokens are the same. ``allowed`` is how far rounding may move the
    difference of these two logits; null where that was not needed.
    """

    row: Count
    reference: Count
    candidate: Count
    judgment: TokenJudgment
    margin: float
    allowed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingStep:
    """One step: the candidate on the reference's caches and tokens.

    ``number`` counts the steps that decode, from 1; those that only read the prompt are 0.
    ``ratio`` is the error of the logits by their budget.
    """

    number: Count
    cached: Count
    """Positions in the caches before the step."""
    tokens: Count
    """Tokens that the step took."""
    verdict: Verdict | None = None
    """Of the logits; null where they were not compared."""
    error: float | None = None
    """The largest difference of two logits, run against run."""
    ratio: float | None = None
    """The same error by its budget, where it is largest."""
    choices: tuple[TokenChoice, ...] = ()
    top_k: Probability | None = None
    """The share of the reference's few largest logits that are among the candidate's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheErrors:
    """One cache over all steps, on the reference's caches and tokens."""

    reference: str
    """The name of the output."""
    candidate: str
    layer: Count
    part: str
    verdicts: tuple[Verdict | None, ...]
    errors: tuple[float | None, ...]
    """The largest difference at each step, run against run."""
    ratios: tuple[float | None, ...]
    """The same errors by their budgets."""
    first_wrong: Count | None = None
    """The place of the first step, in the list of steps, at which it is beyond its budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDecoding:
    """Each side on its own caches and its own tokens: greedy decoding as it is deployed."""

    reference: tuple[tuple[Count, ...], ...]
    """The tokens that each row decoded."""
    candidate: tuple[tuple[Count, ...], ...]
    failure: str = ""
    """Why the candidate did not decode as many."""
    first_different: Count | None = None
    """Which decoded token, counted from 1, is the first that differs in a row."""
    choice: TokenChoice | None = None
    """That token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """A prompt and the tokens decoded after it, step by step."""

    prompt: tuple[tuple[Count, ...], ...]
    """The tokens of each row."""
    start: Start
    reference_caches: tuple[CachePair, ...]
    candidate_caches: tuple[CachePair, ...]
    steps: tuple[DecodingStep, ...]
    caches: tuple[CacheErrors, ...]
    own: OwnDecoding
    first_wrong_cache: Count | None = None
    """The place, in the list of caches, of the first that is wrong: by step, then by layer."""

    @property
    def ties(self) -> int:
        """How many tokens of the candidate differ within rounding, on the reference's caches."""
        return self._count(TokenJudgment.TIE)

    @property
    def wrong(self) -> int:
        """How many tokens of the candidate differ beyond rounding, on the reference's caches."""
        return self._count(TokenJudgment.WRONG)

    def _count(self, judgment: TokenJudgment) -> int:
        return sum(each.judgment is judgment for step in self.steps for each in step.choices)
