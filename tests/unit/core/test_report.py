"""A report passes only with a complete coverage, or with everything accepted."""

from dataclasses import replace

import pytest

from isomorph.core.baseline import Baseline, BaselineState, BaselineStatus
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Verdict
from isomorph.core.proof import Assumptions, OutputProof, Proof, Standing
from isomorph.core.report import Finding, FindingEffect, FindingStatus, Report

COVERED = Coverage(given=1, generated=2, values=4, outputs=(OutputCoverage(output="y", within=3),))


def report(verdict, **more):
    return Report(
        verdict=verdict, reason="", command="check", seed=0, draws=3, false_alarm=1e-6, **more
    )


def baseline(*states):
    statuses = [BaselineStatus(output="y", state=state, message="") for state in states]
    return Baseline(file="b.toml", statuses=tuple(statuses))


@pytest.mark.parametrize("verdict", [Verdict.EQUIVALENT, Verdict.DEGRADED])
@pytest.mark.parametrize(
    "coverage",
    [
        None,
        Coverage(),
        replace(COVERED, values=0),
        replace(COVERED, outputs=()),
        replace(COVERED, in_set=3, from_set=2),
        replace(COVERED, outputs=(OutputCoverage(output="y", within=2, not_compared=1),)),
        replace(COVERED, outputs=(OutputCoverage(output="y", within=2, beyond=1),)),
    ],
)
def test_a_verdict_that_passes_needs_a_complete_coverage(verdict, coverage):
    assert report(verdict, coverage=COVERED).exit_code == 0
    with pytest.raises(ValueError, match="coverage"):
        report(verdict, coverage=coverage)
    assert report(Verdict.UNKNOWN, coverage=coverage).exit_code == 3


def test_the_headline_states_the_verdict_and_what_it_covers():
    fine = report(Verdict.EQUIVALENT, coverage=COVERED)
    assert fine.headline == "EQUIVALENT on 1 given and 2 generated inputs"
    assert replace(fine, only_given=True).headline.endswith("inputs only")
    assert replace(fine, quick=True).headline.endswith("(quick: outputs only)")
    wrong = report(Verdict.DIVERGENT, coverage=COVERED)
    assert wrong.headline == "DIVERGENT"
    assert replace(wrong, only_given=True).headline == "DIVERGENT on the given inputs only"


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ((BaselineState.UNCHANGED,), 0),
        ((BaselineState.UNCHANGED, BaselineState.FIXED), 0),
        ((BaselineState.FIXED,), 1),
        ((), 1),
        ((BaselineState.UNCHANGED, BaselineState.NEW), 1),
        ((BaselineState.UNCHANGED, BaselineState.WORSE), 1),
        ((BaselineState.EXPIRED,), 1),
    ],
)
def test_a_divergence_passes_where_all_of_it_was_accepted_and_some_of_it_is_there(states, code):
    beyond = replace(COVERED, outputs=(OutputCoverage(output="y", beyond=3),))
    found = report(Verdict.DIVERGENT, coverage=beyond, baseline=baseline(*states))
    assert (found.accepted, found.exit_code) == (code == 0, code)


def test_what_was_not_compared_is_accepted_by_no_baseline():
    accepted = baseline(BaselineState.UNCHANGED)
    open_ = replace(COVERED, outputs=(OutputCoverage(output="y", beyond=2, not_compared=1),))
    for coverage in (None, open_):
        assert report(Verdict.DIVERGENT, coverage=coverage, baseline=accepted).exit_code == 1
    assert report(Verdict.UNKNOWN, coverage=COVERED, baseline=accepted).exit_code == 3


def test_a_fault_that_rounding_hides_fails_a_strict_check_alone():
    hidden = Finding(
        code="X", status=FindingStatus.CONFIRMED, effect=FindingEffect.BELOW_ROUNDING, summary=""
    )
    found = report(Verdict.EQUIVALENT, coverage=COVERED, findings=(hidden,))
    assert found.exit_code == 0
    assert replace(found, strict=True).exit_code == 1
    assert replace(found, strict=True, findings=()).exit_code == 0
    assert replace(found, strict=True, verdict=Verdict.DEGRADED).exit_code == 0


EVERY = "for every input of these shapes"
ON = "on 1 given and 2 generated inputs"


def proof(*standings, contradicted=()):
    outputs = [OutputProof(reference="y", candidate="y", standing=each) for each in standings]
    return Proof(
        reference="a",
        candidate="b",
        outputs=tuple(outputs),
        nodes=(),
        chance=0.0,
        seed=1,
        assumptions=Assumptions(shapes={"x": (1,)}, largest_rounding=0.0),
        contradicted=contradicted,
    )


@pytest.mark.parametrize(
    ("verdict", "found", "headline"),
    [
        (Verdict.EQUIVALENT, proof(Standing.PROVEN), f"EQUIVALENT {EVERY}, measured {ON}"),
        (Verdict.EQUIVALENT, proof(Standing.PROVEN, Standing.TESTED), f"EQUIVALENT {ON}"),
        (Verdict.EQUIVALENT, proof(), f"EQUIVALENT {ON}"),
        (Verdict.DEGRADED, proof(Standing.PROVEN), f"DEGRADED {ON}"),
        (Verdict.DIVERGENT, proof(Standing.PROVEN), "DIVERGENT"),
        (Verdict.UNKNOWN, proof(Standing.PROVEN), "UNKNOWN"),
    ],
)
def test_every_input_takes_a_measured_equivalence_and_a_proof_of_all(verdict, found, headline):
    made = report(verdict, coverage=COVERED, proof=found)
    assert made.headline == headline
    assert made.exit_code == verdict.exit_code


@pytest.mark.parametrize("verdict", [Verdict.DIVERGENT, Verdict.DEGRADED])
def test_a_contradicted_proof_is_a_defect_whatever_a_baseline_accepts(verdict):
    found = proof(Standing.PROVEN, contradicted=("y",))
    made = report(verdict, coverage=COVERED, proof=found, baseline=baseline("unchanged"))
    assert made.exit_code == 70
    assert not made.proven
