"""What decoding on its own caches adds to a check of single steps."""

from dataclasses import replace

from isomorph.core.decoding import OwnDecoding, TokenChoice, TokenJudgment
from isomorph.core.divergence import Verdict
from isomorph.decoding.own_decoding import own_outcome

CHOICE = TokenChoice(
    row=0, reference=3, candidate=7, judgment=TokenJudgment.WRONG, margin=1.0, allowed=0.1
)
OWN = OwnDecoding(reference=((3,),), candidate=((7,),), first_different=1, choice=CHOICE)


class Collector:
    """Steps on the reference's caches, which differ or do not."""

    def __init__(self, *, differs):
        self.differs = differs


def verdicts(own, *, differs=False):
    outcome = own_outcome(own, Collector(differs=differs))
    return [each.code for each in outcome.findings], [each.verdict for each in outcome.claims]


def test_another_text_though_all_steps_agree_is_divergent():
    assert verdicts(OWN) == (["OWN_CACHE"], [Verdict.DIVERGENT])


def test_what_single_steps_show_already_is_not_repeated():
    assert verdicts(OWN, differs=True) == ([], [])


def test_a_tie_and_the_same_text_add_nothing():
    tie = replace(OWN, choice=replace(CHOICE, judgment=TokenJudgment.TIE))
    assert verdicts(tie) == ([], [])
    assert verdicts(replace(OWN, choice=None, first_different=None)) == ([], [])


def test_a_candidate_that_cannot_decode_alone_is_not_known():
    assert verdicts(replace(OWN, failure="it died")) == (["OWN_CACHE"], [Verdict.UNKNOWN])
