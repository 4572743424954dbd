"""Decoding in a few lines: the tokens, the logits, and the caches layer by layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isomorph.core.decoding import (
    CacheErrors,
    Decoding,
    DecodingStep,
    OwnDecoding,
    TokenChoice,
    TokenJudgment,
)
from isomorph.core.decoding_limits import TOP_K
from isomorph.core.divergence import Verdict
from isomorph.core.escaping import counted, printable
from isomorph.reporters._figures import number, times

MOST_TOKENS, MOST_CACHES = 4, 6


def decoding_lines(decoding: Decoding) -> Iterator[tuple[str, str]]:
    """Pairs of a label for the margin and a sentence."""
    yield "decoding", _begun(decoding)
    yield "  tokens", _forced(decoding)
    for step, choice in _different(decoding)[:MOST_TOKENS]:
        yield "", f"{step_name(step)}: {choice_text(choice)}"
    more = len(_different(decoding)) - MOST_TOKENS
    if more > 0:
        yield "", f"… and {more} more: --format json"
    yield "  own", _own(decoding.own)
    yield "  logits", _logits(decoding.steps)
    if decoding.caches:
        yield "  caches", _caches(decoding)
        yield from (("", line) for line in _wrong_caches(decoding))


def step_name(step: DecodingStep) -> str:
    """``prompt`` or ``step 3``."""
    return f"step {step.number}" if step.number else "prompt"


def choice_text(choice: TokenChoice) -> str:
    """What the candidate chose instead, and whether rounding explains it."""
    row = f"row {choice.row}, " if choice.row else ""
    text = f"{row}token {choice.candidate} instead of {choice.reference}: {choice.judgment}"
    apart = f"the logits are {number(choice.margin)} apart"
    if choice.allowed is None:
        return f"{text}; {apart}"
    return f"{text}; {apart}, and rounding explains {number(choice.allowed)}"


def cache_name(cache: CacheErrors) -> str:
    """``layer 3 key (present.3.key)``."""
    part = f" {printable(cache.part)}" if cache.part else ""
    return f"layer {cache.layer}{part} ({printable(cache.reference, limit=40)})"


def _begun(decoding: Decoding) -> str:
    length = len(decoding.prompt[0]) if decoding.prompt else 0
    rows = f"{counted(len(decoding.prompt), 'row')} of " if len(decoding.prompt) > 1 else ""
    steps = sum(1 for step in decoding.steps if step.number)
    text = f"a prompt of {rows}{counted(length, 'token')} on {decoding.start}, then "
    text += counted(steps, "step")
    if decoding.reference_caches:
        pairs = decoding.reference_caches
        layers = len({pair.layer for pair in pairs})
        hows = ", ".join(dict.fromkeys(str(pair.how) for pair in pairs))
        text += f"; {counted(len(pairs), 'cache')} in {counted(layers, 'layer')}, paired by {hows}"
    return text


def _forced(decoding: Decoding) -> str:
    found = [each for step in decoding.steps for each in step.choices]
    counts = [
        (judgment, sum(each.judgment is judgment for each in found)) for judgment in TokenJudgment
    ]
    parts = [f"{count} {judgment}" for judgment, count in counts if count]
    return f"on the reference's caches and tokens: {', '.join(parts) or 'not compared'}"


def _different(decoding: Decoding) -> list[tuple[DecodingStep, TokenChoice]]:
    return [
        (step, each)
        for step in decoding.steps
        for each in step.choices
        if each.judgment is not TokenJudgment.SAME
    ]


def _own(own: OwnDecoding) -> str:
    text = "each on its own caches and tokens: "
    if own.choice is not None:
        text += f"the first that differs is number {own.first_different}, "
        text += choice_text(own.choice)
    else:
        count = sum(map(len, own.candidate))
        text += f"the same {counted(count, 'token')}" if count else "none"
    return f"{text}; the candidate failed: {printable(own.failure)}" if own.failure else text


def _logits(steps: Sequence[DecodingStep]) -> str:
    judged = [step for step in steps if step.ratio is not None]
    if not judged:
        return "not compared"
    worst = max(judged, key=lambda step: step.ratio or 0.0)
    text = f"largest error {times(worst.ratio or 0.0)} its budget, at {step_name(worst)}"
    wrong = [step for step in steps if step.verdict is Verdict.DIVERGENT]
    if wrong:
        text += f"; beyond it at {len(wrong)} of {len(steps)}, first at {step_name(wrong[0])}"
    shares = [step.top_k for step in steps if step.top_k is not None]
    if shares:
        text += f"; of the {TOP_K} largest, {sum(shares) / len(shares):.1%} agree"
    return text


def _caches(decoding: Decoding) -> str:
    first = decoding.first_wrong_cache
    if first is not None:
        cache = decoding.caches[first]
        at = cache.first_wrong or 0
        return f"the first that is wrong: {cache_name(cache)}, at {_at(decoding, cache, at)}"
    ratios = [
        (ratio, cache, at)
        for cache in decoding.caches
        for at, ratio in enumerate(cache.ratios)
        if ratio is not None
    ]
    if not ratios:
        return "not compared"
    ratio, cache, at = max(ratios, key=lambda each: each[0])
    # A loss beyond what the width intends may still be that of its weights alone.
    text = "within their budgets" if ratio <= 1.0 else "none is wrong"
    return f"{text}; the largest error: {cache_name(cache)}, {_at(decoding, cache, at)}"


def _wrong_caches(decoding: Decoding) -> Iterator[str]:
    wrong = [
        cache
        for place, cache in enumerate(decoding.caches)
        if cache.first_wrong is not None and place != decoding.first_wrong_cache
    ]
    wrong.sort(key=lambda cache: (cache.first_wrong or 0, cache.layer))
    for cache in wrong[:MOST_CACHES]:
        yield f"then {cache_name(cache)}, at {_at(decoding, cache, cache.first_wrong or 0)}"
    if len(wrong) > MOST_CACHES:
        yield f"… and {len(wrong) - MOST_CACHES} more caches: --format json"


def _at(decoding: Decoding, cache: CacheErrors, place: int) -> str:
    ratio = cache.ratios[place]
    size = "" if ratio is None else f" with {times(ratio)} its budget"
    return f"{step_name(decoding.steps[place])}{size}"
