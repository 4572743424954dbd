import pytest

from isomorph.core.divergence import (
    Budget,
    Distance,
    Divergence,
    DivergenceKind,
    ErrorTerm,
    Verdict,
)
from isomorph.core.report import Report
from isomorph.core.stress import StressFinding
from isomorph.stressing.stress import finding_of

APART = Distance(
    elements=1, compared=1, differing=1, nonfinite_mismatch=0, signed_zero_mismatch=0, max_abs=1.0,
    max_rel=1.0, max_ulp=1.0, rms=1.0, relative_l2=1.0, sqnr_db=0.0, cosine=1.0,
    argmax_agreement=None, worst_index=(0,),
)  # fmt: skip


def term(ratio):
    return ErrorTerm(distance=APART, budget=Budget(derivation="", ratio=ratio))


def report(verdict, observed, oracles, output_verdict):
    output = Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(1,), reason="",
        verdict=output_verdict, kind=DivergenceKind.VALUES, observed=term(observed),
        rounding=term(oracles),
    )  # fmt: skip
    return Report(
        verdict=verdict, reason="", command="", seed=0, draws=3, false_alarm=0.5, outputs=(output,)
    )


@pytest.mark.parametrize(
    ("observed", "oracles", "output", "expected"),
    [
        (3.0, 2.0, Verdict.DIVERGENT, StressFinding.DIFFERENT_FUNCTION),
        (3.0, 0.1, Verdict.DIVERGENT, StressFinding.ROUNDING_EXCEEDS_BUDGET),
        (0.1, 0.1, Verdict.EQUIVALENT, StressFinding.LATENT),
    ],
)
def test_what_a_divergent_check_of_the_worst_input_shows(observed, oracles, output, expected):
    assert finding_of(report(Verdict.DIVERGENT, observed, oracles, output)) is expected


def test_an_undecided_check_is_undecided():
    found = finding_of(report(Verdict.UNKNOWN, 0.1, 0.1, Verdict.UNKNOWN))
    assert found is StressFinding.UNDECIDED
