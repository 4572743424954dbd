"""A verdict of equivalent comes out of a complete ledger, and out of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.coverage import (
    Coverage,
    Entry,
    InputKind,
    Ledger,
    Outcome,
    OutputCoverage,
    concluded,
    entries,
)
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.report import Report

ABOUT = {"reason": "", "command": "check", "seed": 0, "draws": 0, "false_alarm": 1e-6}


def entry(output, outcome=Outcome.WITHIN, **about):
    return Entry(output=output, outcome=outcome, values=1, finite=1, **about)


def divergence(output, verdict=Verdict.EQUIVALENT):
    return Divergence(
        reference_output=output, candidate_output=output, dtype="", shape=(), verdict=verdict,
        reason=f"it is {verdict}",
    )  # fmt: skip


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from("abc"), st.sampled_from(["", "[0]"]), st.sampled_from(Outcome)
            ),
            unique_by=lambda each: each[:2],
        ),
        max_size=5,
    )
)
def test_every_output_of_every_input_is_counted_once(inputs):
    ledger = Ledger("abc")
    for found in inputs:
        ledger.account(
            InputKind.GIVEN, [entry(name, what, element=path) for name, path, what in found]
        )
    seen = ledger.coverage
    # What an input does not report is owed under the output's own name.
    owed = sum(len(found) + len(set("abc") - {name for name, _, _ in found}) for found in inputs)
    assert sum(each.within + each.beyond + each.not_compared for each in seen.outputs) == owed
    whole = [
        {name for name, _, _ in found} == set("abc")
        and all(what is not Outcome.NOT_COMPARED for _, _, what in found)
        for found in inputs
    ]
    assert (seen.given, seen.inputs) == (sum(whole), len(inputs))
    assert seen.complete == (bool(whole) and all(whole))
    verdict, _ = concluded(Verdict.EQUIVALENT, "the same", seen)
    clean = seen.complete and not any(what is Outcome.BEYOND for f in inputs for _, _, what in f)
    assert (verdict is Verdict.EQUIVALENT) == clean


def test_twice_is_a_mistake():
    with pytest.raises(ValueError, match="twice"):
        Ledger("a").account(InputKind.GIVEN, [entry("a"), entry("a", Outcome.BEYOND)])


def test_the_graver_of_two_comparisons_of_one_tensor_counts():
    for order in (1, -1):
        found = [divergence("y", Verdict.DIVERGENT), divergence("y")][::order]
        (made,) = entries(found, ["y"])
        assert made.outcome is Outcome.BEYOND


def test_elements_belong_to_their_output():
    found = entries([divergence("y[0]"), divergence("yy.keys"), divergence("y")], ["y", "yy"])
    assert {(each.output, each.element) for each in found} == {
        ("y", "[0]"),
        ("yy", ".keys"),
        ("y", ""),
    }


@pytest.mark.parametrize("verdict", [Verdict.EQUIVALENT, Verdict.DEGRADED])
def test_no_report_passes_without_a_comparison(verdict):
    whole = Coverage(given=1, values=1, outputs=(OutputCoverage(output="y", within=1),))
    assert Report(verdict=verdict, coverage=whole, **ABOUT).exit_code == 0
    for coverage in (
        None,
        Coverage(),
        Coverage(given=1, values=1, outputs=(OutputCoverage(output="y", not_compared=1),)),
        Coverage(given=1, values=1, outputs=(OutputCoverage(output="y", beyond=1),)),
        Coverage(given=1, values=0, outputs=(OutputCoverage(output="y", within=1),)),
        Coverage(from_set=1, in_set=2, values=1, outputs=(OutputCoverage(output="y", within=1),)),
    ):
        with pytest.raises(ValueError, match="coverage"):
            Report(verdict=verdict, coverage=coverage, **ABOUT)
        assert Report(verdict=Verdict.UNKNOWN, coverage=coverage, **ABOUT).exit_code == 3


def test_samples_that_were_never_entered_are_missed():
    ledger = Ledger("a")
    ledger.from_test_set("data.npz", 3)
    for _ in range(2):
        ledger.account(InputKind.TEST_SET, [entry("a")])
    verdict, reason = concluded(Verdict.EQUIVALENT, "the same", ledger.coverage)
    assert (verdict, "2 of 3 samples of data.npz" in reason) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"given": 1}, "on 1 given input"),
        ({"given": 1, "generated": 2}, "on 1 given and 2 generated inputs"),
        ({"generated": 2}, "on 2 generated inputs"),
        ({"from_set": 40, "in_set": 40, "set_name": "d.npz"}, "on 40 of 40 samples of d.npz"),
        ({}, ""),
    ],
)
def test_the_headline_states_the_coverage(counts, words):
    assert Coverage(**counts).words == words
