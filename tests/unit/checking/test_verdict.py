"""The outcomes of the phases add up to the summary of a check."""

from functools import reduce

from isomorph.checking.verdict import Claim, Outcome, Summary, claims_of, extended
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.report import Finding, FindingEffect, FindingStatus, Skipped

_UNMEASURED = "the candidate could not be run"


def _summary(*outcomes):
    return reduce(extended, outcomes, Summary())


def _claim(verdict, reason, **more):
    return Outcome(claims=(Claim(verdict=verdict, reason=reason, **more),))


def _divergence(verdict, reason="", output="y"):
    return Divergence(
        reference_output=output,
        candidate_output=output,
        dtype="float32",
        shape=(1,),
        verdict=verdict,
        reason=reason,
    )


def _finding(code):
    return Finding(
        rank=0,
        code=code,
        cause=None,
        summary=code,
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE,
    )


def test_without_a_claim_nothing_is_wrong():
    assert (_summary().verdict, _summary().reason) == (Verdict.EQUIVALENT, "")


def test_the_graver_verdict_wins_in_either_order():
    claims = _claim(Verdict.DIVERGENT, "worse"), _claim(Verdict.DEGRADED, "loss")
    for order in (claims, claims[::-1]):
        summary = _summary(*order)
        assert (summary.verdict, summary.reason) == (Verdict.DIVERGENT, "worse")


def test_the_first_reason_of_equal_verdicts_stays():
    summary = _summary(_claim(Verdict.UNKNOWN, "first"), _claim(Verdict.UNKNOWN, "second"))
    assert summary.reason == "first"


def test_of_each_output_the_worst_sample_is_kept():
    fine, wrong = _divergence(Verdict.EQUIVALENT), _divergence(Verdict.DIVERGENT)
    for order in ((fine, wrong), (wrong, fine)):
        summary = _summary(*(Outcome(divergences=(each,)) for each in order))
        assert summary.divergences == {("y", "y"): wrong}


def test_a_failure_is_the_reason_where_nothing_was_measured():
    unknown = _divergence(Verdict.UNKNOWN, _UNMEASURED)
    compared = Outcome(divergences=(unknown,), claims=claims_of([unknown]))
    failed = _claim(Verdict.UNKNOWN, "it died", unmeasured_reason="candidate: it died")
    assert _summary(compared, failed).reason == "candidate: it died"


def test_a_failure_changes_no_other_reason():
    wrong = _divergence(Verdict.DIVERGENT, "the graphs differ")
    compared = Outcome(divergences=(wrong,), claims=claims_of([wrong]))
    failed = _claim(Verdict.UNKNOWN, "it died", unmeasured_reason="candidate: it died")
    assert _summary(compared, failed).reason == "the graphs differ"


def test_located_findings_come_before_earlier_ones():
    outcomes = (
        Outcome(findings=(_finding("INTERFACE"),)),
        Outcome(findings=(_finding("LAST"),), located=(_finding("GUILTY_NODE"),)),
    )
    codes = [each.code for each in _summary(*outcomes).findings]
    assert codes == ["GUILTY_NODE", "INTERFACE", "LAST"]


def test_the_rest_is_added_up():
    skipped = Skipped(what="probes", why="no time")
    summary = _summary(
        Outcome(skipped=(skipped,), explained=frozenset({"a"}), abort_reason="it died"),
        Outcome(explained=frozenset({"b"}), moves_channels=True),
        Outcome(),
    )
    assert summary.skipped == (skipped,)
    assert summary.explained == {"a", "b"}
    assert summary.moves_channels
    assert summary.abort_reason == "it died"
