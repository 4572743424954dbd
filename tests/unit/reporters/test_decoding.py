"""Decoding in a terminal: the tokens with their ties, the logits, and the first wrong cache."""

from dataclasses import replace

from isomorph.core.decoding import (
    CachedBy,
    CacheErrors,
    CachePair,
    Decoding,
    DecodingStep,
    OwnDecoding,
    Start,
    TokenChoice,
    TokenJudgment,
)
from isomorph.core.divergence import Verdict
from isomorph.reporters._decoding import decoding_lines

PAIR = CachePair(input="past.0", output="present.0", axis=2, layer=0, part="key", how=CachedBy.NAME)
SAME = TokenChoice(row=0, reference=3, candidate=3, judgment=TokenJudgment.SAME, margin=0.5)
TIE = TokenChoice(
    row=0, reference=3, candidate=7, judgment=TokenJudgment.TIE, margin=1e-6, allowed=2e-5
)
STEPS = tuple(
    DecodingStep(
        number=number, cached=number, tokens=1, verdict=Verdict.EQUIVALENT, error=1e-6,
        ratio=0.1 * number, choices=(choice,), top_k=0.8,
    )
    for number, choice in enumerate((SAME, TIE))
)  # fmt: skip
CACHE = CacheErrors(
    reference="present.0", candidate="present.0", layer=0, part="key",
    verdicts=(Verdict.EQUIVALENT,) * 2, errors=(1e-7, 2e-7), ratios=(0.02, 0.06),
)  # fmt: skip
DECODING = Decoding(
    prompt=((1, 2, 3),),
    start=Start.EMPTY,
    reference_caches=(PAIR,),
    candidate_caches=(PAIR,),
    steps=STEPS,
    caches=(CACHE,),
    own=OwnDecoding(reference=((3, 3),), candidate=((3, 3),)),
)


def text_of(decoding):
    return "\n".join(f"{label}|{text}" for label, text in decoding_lines(decoding))


def test_a_faithful_decoder_takes_a_few_lines_and_its_ties_are_listed():
    text = text_of(DECODING)
    for expected in (
        "a prompt of 3 tokens on empty caches, then 1 step; 1 cache in 1 layer, paired by names",
        "1 same, 1 tie",
        "step 1: token 7 instead of 3: tie; the logits are 1.00e-06 apart",
        "rounding explains 2.00e-05",
        "the same 2 tokens",
        "largest error 0.10× its budget, at step 1; of the 5 largest, 80.0% agree",
        "within their budgets; the largest error: layer 0 key (present.0), step 1 with 0.06×",
    ):
        assert expected in text


def test_the_first_wrong_cache_and_token_are_named():
    wrong = replace(TIE, judgment=TokenJudgment.WRONG, margin=0.5)
    divergent = replace(
        CACHE, verdicts=(Verdict.EQUIVALENT, Verdict.DIVERGENT), ratios=(0.02, 40.0), first_wrong=1
    )
    steps = (STEPS[0], replace(STEPS[1], verdict=Verdict.DIVERGENT, choices=(wrong,), ratio=50.0))
    text = text_of(
        replace(
            DECODING,
            steps=steps,
            caches=(divergent, replace(divergent, layer=1)),
            first_wrong_cache=0,
            own=replace(DECODING.own, first_different=2, choice=wrong, failure="it died"),
        )
    )
    assert "the first that is wrong: layer 0 key (present.0), at step 1 with 40× its" in text
    assert "then layer 1 key (present.0), at step 1" in text
    assert "beyond it at 1 of 2, first at step 1" in text
    assert "the first that differs is number 2, token 7 instead of 3: wrong" in text
    assert "the candidate failed: it died" in text


def test_what_was_not_compared_is_stated():
    steps = tuple(DecodingStep(number=each, cached=each, tokens=1) for each in range(2))
    nothing = replace(CACHE, verdicts=(None, None), errors=(None, None), ratios=(None, None))
    own = OwnDecoding(reference=((1, 2),), candidate=())
    text = text_of(replace(DECODING, steps=steps, caches=(nothing,), own=own))
    assert text.count("not compared") == 3
