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
from isomorph.core.messages import message
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
        yield "", message("REPORT.more", count=more)
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
    text = message(
        "DECODING.token",
        place=row,
        candidate=choice.candidate,
        reference=choice.reference,
        judgment=choice.judgment,
    )
    apart = message("DECODING.apart", margin=number(choice.margin))
    if choice.allowed is None:
        return f"{text}; {apart}"
    return message("DECODING.explained", text=text, apart=apart, allowed=number(choice.allowed))


def cache_name(cache: CacheErrors) -> str:
    """``layer 3 key (present.3.key)``."""
    part = f" {printable(cache.part)}" if cache.part else ""
    return f"layer {cache.layer}{part} ({printable(cache.reference, limit=40)})"


def _begun(decoding: Decoding) -> str:
    length = len(decoding.prompt[0]) if decoding.prompt else 0
    rows = f"{counted(len(decoding.prompt), 'row')} of " if len(decoding.prompt) > 1 else ""
    steps = sum(1 for step in decoding.steps if step.number)
    text = message(
        "DECODING.prompt", rows=rows, tokens=counted(length, "token"), start=decoding.start
    )
    text += counted(steps, "step")
    if decoding.reference_caches:
        pairs = decoding.reference_caches
        layers = len({pair.layer for pair in pairs})
        hows = ", ".join(dict.fromkeys(str(pair.how) for pair in pairs))
        text += message(
            "DECODING.caches",
            caches=counted(len(pairs), "cache"),
            layers=counted(layers, "layer"),
            hows=hows,
        )
    return text


def _forced(decoding: Decoding) -> str:
    found = [each for step in decoding.steps for each in step.choices]
    counts = [
        (judgment, sum(each.judgment is judgment for each in found)) for judgment in TokenJudgment
    ]
    parts = [f"{count} {judgment}" for judgment, count in counts if count]
    return message("DECODING.forced", parts=", ".join(parts) or message("DECODING.not_compared"))


def _different(decoding: Decoding) -> list[tuple[DecodingStep, TokenChoice]]:
    return [
        (step, each)
        for step in decoding.steps
        for each in step.choices
        if each.judgment is not TokenJudgment.SAME
    ]


def _own(own: OwnDecoding) -> str:
    text = message("DECODING.own")
    if own.choice is not None:
        text += message("DECODING.first_different", number=own.first_different)
        text += choice_text(own.choice)
    else:
        count = sum(map(len, own.candidate))
        text += message("DECODING.same_tokens", tokens=counted(count, "token")) if count else "none"
    return (
        message("DECODING.failed", text=text, failure=printable(own.failure))
        if own.failure
        else text
    )


def _logits(steps: Sequence[DecodingStep]) -> str:
    judged = [step for step in steps if step.ratio is not None]
    if not judged:
        return message("DECODING.not_compared")
    worst = max(judged, key=lambda step: step.ratio or 0.0)
    text = message("DECODING.largest", ratio=times(worst.ratio or 0.0), step=step_name(worst))
    wrong = [step for step in steps if step.verdict is Verdict.DIVERGENT]
    if wrong:
        text += message(
            "DECODING.beyond", count=len(wrong), total=len(steps), first=step_name(wrong[0])
        )
    shares = [step.top_k for step in steps if step.top_k is not None]
    if shares:
        text += message("DECODING.top", count=TOP_K, share=sum(shares) / len(shares))
    return text


def _caches(decoding: Decoding) -> str:
    first = decoding.first_wrong_cache
    if first is not None:
        cache = decoding.caches[first]
        at = cache.first_wrong or 0
        return message(
            "DECODING.first_wrong", cache=cache_name(cache), place=_at(decoding, cache, at)
        )
    ratios = [
        (ratio, cache, at)
        for cache in decoding.caches
        for at, ratio in enumerate(cache.ratios)
        if ratio is not None
    ]
    if not ratios:
        return message("DECODING.not_compared")
    ratio, cache, at = max(ratios, key=lambda each: each[0])
    # A loss beyond what the width intends may still be that of its weights alone.
    key = "DECODING.within" if ratio <= 1.0 else "DECODING.beyond_intended"
    return message(key, cache=cache_name(cache), place=_at(decoding, cache, at))


def _wrong_caches(decoding: Decoding) -> Iterator[str]:
    wrong = [
        cache
        for place, cache in enumerate(decoding.caches)
        if cache.first_wrong is not None and place != decoding.first_wrong_cache
    ]
    wrong.sort(key=lambda cache: (cache.first_wrong or 0, cache.layer))
    for cache in wrong[:MOST_CACHES]:
        yield message(
            "DECODING.then",
            cache=cache_name(cache),
            place=_at(decoding, cache, cache.first_wrong or 0),
        )
    if len(wrong) > MOST_CACHES:
        yield message("DECODING.more_caches", count=len(wrong) - MOST_CACHES)


def _at(decoding: Decoding, cache: CacheErrors, place: int) -> str:
    ratio = cache.ratios[place]
    size = "" if ratio is None else message("DECODING.with_ratio", ratio=times(ratio))
    return f"{step_name(decoding.steps[place])}{size}"
