"""What a running check knows: samples in turn, missing outputs, and a verdict that is covered."""

import numpy as np
import pytest

from isomorph.checking.config import CheckConfig
from isomorph.checking.log import CheckLog
from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.divergence import (
    Budget,
    Distance,
    Divergence,
    DivergenceKind,
    ErrorTerm,
    Verdict,
)
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding
from isomorph.inputs.feeds import Sample

DISTANCE = Distance(
    elements=2, compared=2, differing=0, nonfinite_mismatch=0, signed_zero_mismatch=0,
    max_abs=0.0, max_rel=0.0, max_ulp=0.0, rms=0.0, relative_l2=0.0, sqnr_db=None, cosine=None,
    argmax_agreement=None, worst_index=None,
)  # fmt: skip


def sample(name):
    return Sample(origin=name, feeds={"x": np.zeros(1)})


def judged(output):
    same = ErrorTerm(distance=DISTANCE, budget=Budget(derivation="", ratio=0.0))
    return Divergence(
        reference_output=output, candidate_output=output, dtype="float32", shape=(2,),
        verdict=Verdict.EQUIVALENT, reason="", observed=same,
    )  # fmt: skip


@pytest.fixture
def log():
    made = CheckLog(options=CheckConfig(), handles=())
    expect(made, ["y"], ["y"])
    return made


def expect(log, outputs, bound):
    specs = [TensorSpec(name=name, dtype="float32", shape=(2,)) for name in outputs]
    pairs = [Binding(reference=name, candidate=name, how="name") for name in bound]
    log.expect(specs, pairs)


def test_a_check_whose_samples_were_all_judged_keeps_its_verdict(log):
    for _ in log.each_sample([sample("a"), sample("b")]):
        log.ledger.judged([judged("y")])
    log.conclude()
    assert log.summary.verdict is Verdict.EQUIVALENT
    assert [each.origin for each in log.samples] == ["a", "b"]


def test_a_sample_that_was_not_judged_leaves_the_verdict_unknown(log):
    for each in log.each_sample([sample("a"), sample("b")]):
        if each.origin == "a":
            log.ledger.judged([judged("y")])
    log.conclude()
    assert log.summary.verdict is Verdict.UNKNOWN
    assert "'y' was not compared" in log.summary.reason


def test_a_check_without_samples_is_unknown(log):
    log.conclude()
    assert log.summary.verdict is Verdict.UNKNOWN


def test_a_divergence_stays_one_although_not_all_was_compared(log):
    for _ in log.each_sample([sample("a")]):
        log.add(Outcome(claims=(Claim(verdict=Verdict.DIVERGENT, reason="wrong"),)))
    log.conclude()
    assert (log.summary.verdict, log.summary.reason) == (Verdict.DIVERGENT, "wrong")


def test_once_a_runtime_has_died_the_other_samples_are_skipped(log):
    seen = []
    for each in log.each_sample([sample("a"), sample("b"), sample("c")]):
        seen.append(each.origin)
        log.add(Outcome(abort_reason="it crashed"))
    assert seen == ["a"]
    assert [(each.what, each.why) for each in log.summary.skipped] == [
        ("inputs b", "it crashed"),
        ("inputs c", "it crashed"),
    ]


def test_an_output_that_the_candidate_lacks_is_a_divergence_at_once():
    log = CheckLog(options=CheckConfig(), handles=())
    expect(log, ["y", "z"], ["y"])
    assert log.summary.verdict is Verdict.DIVERGENT
    assert "'z'" in log.summary.reason
    (missing,) = log.summary.divergences.values()
    assert missing.kind is DivergenceKind.MISSING


def test_the_steps_are_counted_with_loading_before_and_the_report_after():
    class Steps:
        def __init__(self):
            self.seen = []

        def step(self, number, count):
            self.seen.append((number, count))

        def __call__(self, *words):
            pass

    steps = Steps()
    log = CheckLog(options=CheckConfig(on_progress=steps), handles=())
    list(log.each_sample([sample("a"), sample("b")]))
    assert steps.seen == [(2, 4), (3, 4), (4, 4)]
