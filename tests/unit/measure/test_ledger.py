"""Every output of the reference is accounted for on every input, judged or not."""

import numpy as np
import pytest

from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Divergence, DivergenceKind, Verdict
from isomorph.core.report import Binding
from isomorph.inputs.feeds import Sample
from isomorph.measure.ledger import LACKING, Accounts


def judged(output, verdict=Verdict.EQUIVALENT):
    return Divergence(
        reference_output=output, candidate_output=output, dtype="float32", shape=(1,),
        verdict=verdict, reason="because",
    )  # fmt: skip


def bound(*names):
    return [Binding(reference=name, candidate=name, how="name") for name in names]


def sample(kind=InputKind.GIVEN):
    return Sample(origin="", feeds={"x": np.zeros(1)}, kind=kind)


def totals(accounts):
    return {
        each.output: (each.within, each.beyond, each.not_compared)
        for each in accounts.coverage.outputs
    }


@pytest.fixture
def accounts():
    made = Accounts()
    assert made.expect(["y", "z"], bound("y", "z")) == ()
    return made


def test_a_judged_input_is_accounted_for_by_its_verdicts(accounts):
    accounts.open(sample())
    accounts.judged([judged("y"), judged("z", Verdict.DIVERGENT)])
    accounts.close()
    assert totals(accounts) == {"y": (1, 0, 0), "z": (0, 1, 0)}
    assert (accounts.coverage.given, accounts.coverage.inputs) == (1, 1)


def test_an_output_that_was_not_judged_is_not_compared(accounts):
    accounts.open(sample(InputKind.GENERATED))
    accounts.judged([judged("y")])
    assert totals(accounts) == {"y": (1, 0, 0), "z": (0, 0, 1)}
    assert accounts.coverage.generated == 0


def test_an_input_that_is_closed_unjudged_was_not_compared(accounts):
    accounts.open(sample())
    accounts.close()
    assert totals(accounts) == {"y": (0, 0, 1), "z": (0, 0, 1)}
    assert accounts.coverage.inputs == 1
    assert not accounts.coverage.complete


def test_a_dropped_input_counts_nowhere(accounts):
    accounts.open(sample())
    accounts.drop()
    accounts.close()
    accounts.judged([judged("y")])
    assert accounts.coverage.inputs == 0


def test_an_output_that_the_candidate_lacks_is_divergent_on_every_input():
    accounts = Accounts()
    (missing,) = accounts.expect(["y", "z"], bound("y"))
    assert (missing.reference_output, missing.candidate_output) == ("z", None)
    assert (missing.verdict, missing.kind) == (Verdict.DIVERGENT, DivergenceKind.MISSING)
    assert missing.reason == LACKING
    for _ in range(2):
        accounts.open(sample())
        accounts.judged([judged("y")])
    assert totals(accounts) == {"y": (2, 0, 0), "z": (0, 2, 0)}


def test_of_recorded_values_such_an_output_is_not_compared():
    accounts = Accounts()
    assert accounts.expect(["y", "z"], bound("y"), interface=False) == ()
    accounts.open(sample())
    accounts.judged([judged("y")])
    assert totals(accounts) == {"y": (1, 0, 0), "z": (0, 0, 1)}


def test_every_sample_of_a_test_set_counts_with_the_reason_why_one_was_not_judged(accounts):
    both = [judged("y"), judged("z")]
    accounts.of_test_set("photos", 3, {"1": both, "2": both}, {"3": "it does not fit"})
    coverage = accounts.coverage
    assert (coverage.from_set, coverage.in_set, coverage.set_name) == (2, 3, "photos")
    assert totals(accounts) == {"y": (2, 0, 1), "z": (2, 0, 1)}
    assert {each.reasons for each in coverage.outputs} == {("it does not fit",)}
    assert not coverage.complete
