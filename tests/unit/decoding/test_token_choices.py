"""A token that differs: a tie, a loss, a fault, or not known."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.decoding import TokenJudgment
from isomorph.core.divergence import Verdict
from isomorph.decoding.token_choices import choice, choices, judged_logits, top_k_agreement
from packed_decoder import at, network

REFERENCE, CANDIDATE = np.array([1.0, 5.0, 4.9]), np.array([1.0, 4.9, 5.0])


@pytest.mark.parametrize(
    ("verdict", "allowed", "judgment"),
    [
        (Verdict.DIVERGENT, 0.2, TokenJudgment.TIE),
        (Verdict.DIVERGENT, 0.05, TokenJudgment.WRONG),
        (Verdict.EQUIVALENT, 0.05, TokenJudgment.TIE),
        (Verdict.DEGRADED, 0.05, TokenJudgment.LOSS),
        (Verdict.DEGRADED, 0.2, TokenJudgment.TIE),
        (Verdict.UNKNOWN, 0.05, TokenJudgment.OPEN),
        (None, None, TokenJudgment.OPEN),
        (Verdict.DIVERGENT, None, TokenJudgment.WRONG),
    ],
)
def test_another_token_is_judged_by_what_rounding_explains(verdict, allowed, judgment):
    found = choice(0, REFERENCE, CANDIDATE, verdict, lambda row, one, other: allowed)
    assert (found.reference, found.candidate, found.judgment) == (1, 2, judgment)
    assert found.margin == pytest.approx(0.1)
    assert found.allowed == allowed


def test_the_same_token_needs_no_budget_and_has_a_margin():
    def unasked(*_):
        raise AssertionError("nothing is measured for equal tokens")

    (found,) = choices(REFERENCE[None], REFERENCE[None] + 1, Verdict.DIVERGENT, unasked)
    assert found.judgment is TokenJudgment.SAME
    assert found.margin == pytest.approx(0.1)
    assert found.allowed is None


def test_the_largest_few_may_agree_in_part():
    reference = np.arange(20.0)[None]
    candidate = reference.copy()
    candidate[0, 3] = 100
    assert top_k_agreement(reference, reference) == 1
    assert top_k_agreement(reference, candidate) == pytest.approx(0.8)


@pytest.mark.parametrize("levels", [(0, 0), (0, 4), (4, 0), (4, 4)])
def test_what_a_kernel_quantizes_makes_no_tie(levels):
    load = registry.framework("onnx").load
    graphs = [load(network(at(level)), {}).graph for level in levels]
    seen = Verdict.DEGRADED if 4 in levels else Verdict.EQUIVALENT
    assert judged_logits(graphs, Verdict.EQUIVALENT) is seen
    assert judged_logits(graphs, Verdict.DIVERGENT) is Verdict.DIVERGENT
