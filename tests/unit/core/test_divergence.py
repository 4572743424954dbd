"""What is not known to be within its budget is never called so."""

from dataclasses import replace

import pytest

from isomorph.core.divergence import (
    Budget,
    Distance,
    Divergence,
    ErrorTerm,
    Judgment,
    Verdict,
)

DISTANCE = Distance(
    elements=6, compared=6, differing=1, nonfinite_mismatch=0, signed_zero_mismatch=0,
    max_abs=1.0, max_rel=1.0, max_ulp=None, rms=1.0, relative_l2=1.0, sqnr_db=None, cosine=None,
    argmax_agreement=None, worst_index=(0,),
)  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "judgment"),
    [
        (0.0, Judgment.YES), (1.0, Judgment.YES), (1.0000001, Judgment.NO),
        (float("inf"), Judgment.NO), (float("nan"), Judgment.NO), (None, Judgment.UNKNOWN),
    ],
)  # fmt: skip
def test_an_error_is_within_its_budget_beyond_it_or_unknown(ratio, judgment):
    term = ErrorTerm(distance=DISTANCE, budget=Budget(derivation="", ratio=ratio))
    assert term.budget.within is judgment
    assert (term.within, term.beyond) == (judgment is Judgment.YES, judgment is Judgment.NO)


def test_only_what_is_the_same_or_intended_passes():
    assert {verdict.value: verdict.exit_code for verdict in Verdict} == {
        "equivalent": 0, "degraded": 0, "divergent": 1, "unknown": 3,
    }  # fmt: skip


def test_the_compared_values_are_those_of_the_run_or_of_what_was_measured_instead():
    def term(elements):
        return ErrorTerm(
            distance=replace(DISTANCE, elements=elements), budget=Budget(derivation="", ratio=0.0)
        )

    bare = Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(6,),
        verdict=Verdict.UNKNOWN, reason="",
    )  # fmt: skip
    assert bare.elements == 0
    assert replace(bare, execution_candidate=term(3)).elements == 3
    assert replace(bare, execution_candidate=term(3), rounding=term(4)).elements == 4
    assert replace(bare, rounding=term(4), observed=term(5)).elements == 5
