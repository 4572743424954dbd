"""What a baseline lets pass, and what it does not."""

from dataclasses import replace
from datetime import date

import pytest

from isomorph.checking.baseline import accepted_entries, compare_with_baseline
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import (
    Budget,
    Distance,
    Divergence,
    DivergenceKind,
    ErrorTerm,
    Verdict,
)
from isomorph.core.errors import UsageError
from isomorph.core.report import Finding, Report

TODAY = date(2026, 11, 15)


def _report(output, verdict=Verdict.DIVERGENT, findings=()):
    return Report(
        findings=tuple(findings),
        verdict=verdict,
        reason="as told",
        command="check",
        seed=0,
        draws=3,
        false_alarm=1e-6,
        outputs=(output,),
        coverage=Coverage(
            given=1, inputs=1, values=4, outputs=(OutputCoverage(output="y", within=1),)
        ),
    )


def _output(verdict=Verdict.DIVERGENT, *, distance=None, shape=(4,)):
    budget = Budget(derivation="none", ratio=None)
    observed = None if distance is None else ErrorTerm(distance=distance, budget=budget)
    return Divergence(
        reference_output="y",
        candidate_output="y",
        verdict=verdict,
        reason="as told",
        shape=shape,
        dtype="float32",
        observed=observed,
    )


def _words(differing):
    unknown = dict.fromkeys(("max_abs", "max_rel", "max_ulp", "rms", "relative_l2", "sqnr_db"))
    unknown |= dict.fromkeys(("cosine", "argmax_agreement", "worst_index"))
    counts = {"nonfinite_mismatch": 0, "signed_zero_mismatch": 0}
    return Distance(elements=4, compared=4, differing=differing, **counts, **unknown)


def _state(then, now):
    entries = accepted_entries(_report(then), why="w", who="Ada", when=TODAY, until=None, pair="p")
    compared = compare_with_baseline(_report(now), "b.toml", entries, today=TODAY, pair="p")
    (status,) = compared.baseline.statuses
    return status.state, compared.exit_code


def test_more_words_that_differ_are_worse():
    then = _output(distance=_words(1))
    assert _state(then, then) == ("unchanged", 0)
    assert _state(then, _output(distance=_words(2))) == ("worse", 1)


def test_another_shape_is_not_what_was_accepted():
    then = _output(shape=(4, 3))
    assert _state(then, then) == ("unchanged", 0)
    assert _state(then, _output(shape=(3, 4))) == ("worse", 1)
    assert _state(then, _output(distance=_words(1), shape=(4, 3))) == ("worse", 1)


def test_what_was_fixed_excuses_no_other_divergence():
    """The verdict may rest on the order of the outputs, while none of them differs by itself."""
    report = _report(_output(distance=_words(1)))
    entries = accepted_entries(report, why="w", who="Ada", when=TODAY, until=None, pair="p")
    repaired = _report(_output(Verdict.EQUIVALENT, distance=_words(0)))
    compared = compare_with_baseline(repaired, "b.toml", entries, today=TODAY, pair="p")
    assert [each.state for each in compared.baseline.statuses] == ["fixed"]
    assert compared.exit_code == 1
    with pytest.raises(
        UsageError, match="no output, constant or node of the report is divergent"
    ) as caught:
        accepted_entries(repaired, why="w", who="Ada", when=TODAY, until=None, pair="p")
    assert "as told" in caught.value.why


def _fault(node, cause="weight", **about):
    words = {"status": "confirmed", "effect": "reaches_output", "code": "GUILTY_NODE", **about}
    return Finding(rank=1, cause=cause, summary="off", node=node, **words)


def _state_and_exit(then, now, output=None):
    output = output or _output(distance=_words(1))
    report = _report(output, findings=then)
    entries = accepted_entries(report, why="w", who="Ada", when=TODAY, until=None, pair="p")
    compared = compare_with_baseline(
        _report(output, findings=now), "b.toml", entries, today=TODAY, pair="p"
    )
    return compared.baseline.statuses[0].state, compared.exit_code


@pytest.mark.parametrize(
    "now",
    [
        [_fault("conv_2")],
        [_fault("conv_1", cause="attribute")],
        [_fault("conv_1"), _fault("conv_2")],
        [_fault("conv_1"), _fault("conv_1")],
        [_fault("conv_1"), _fault(None, "interface", code="OUTPUT_ORDER")],
        [
            _fault("conv_1"),
            _fault("fc", code="CONSTANT_DIFFERS", status="suspected", effect="latent"),
        ],
        [],
    ],
    ids=["node", "cause", "one more", "twice", "order", "weight", "none named"],
)
def test_an_acceptance_covers_its_node_and_cause_and_no_other(now):
    accepted = [_fault("conv_1")]
    assert _state_and_exit(accepted, accepted) == ("unchanged", 0)
    assert _state_and_exit(accepted, now) == ("new", 1)


def test_causes_exchanged_between_nodes_are_new():
    then = [_fault("a", "weight"), _fault("b", "attribute")]
    assert _state_and_exit(then, [_fault("a", "attribute"), _fault("b", "weight")]) == ("new", 1)
    assert _state_and_exit(then, then[:1]) == ("unchanged", 0), "less than was accepted"


def test_an_output_that_vanished_is_not_what_was_accepted():
    then = _output(distance=_words(1))
    gone = replace(_output(shape=()), candidate_output=None, kind=DivergenceKind.MISSING)
    assert _state(then, gone) == ("worse", 1)
    assert _state(_output(shape=()), gone) == ("worse", 1), "a scalar of another shape"
    assert _state(gone, gone) == ("unchanged", 0)


def test_what_was_not_compared_is_accepted_by_nobody():
    report = _report(_output(distance=_words(1)))
    entries = accepted_entries(report, why="w", who="Ada", when=TODAY, until=None, pair="p")
    open_question = OutputCoverage(output="z", not_compared=1)
    blind = Coverage(given=1, values=1, outputs=(open_question,))
    now = replace(report, coverage=blind)
    assert compare_with_baseline(report, "b.toml", entries, today=TODAY, pair="p").exit_code == 0
    assert compare_with_baseline(now, "b.toml", entries, today=TODAY, pair="p").exit_code == 1


def test_a_file_of_an_earlier_version_still_counts_causes_and_nodes():
    report = _report(_output(distance=_words(1)), findings=[_fault("a")])
    entries = accepted_entries(report, why="w", who="Ada", when=TODAY, until=None, pair="p")
    old = [replace(each, findings=None, kind=None) for each in entries]
    assert compare_with_baseline(report, "b.toml", old, today=TODAY, pair="p").exit_code == 0
    moved = replace(report, findings=(_fault("b"),))
    assert compare_with_baseline(moved, "b.toml", old, today=TODAY, pair="p").exit_code == 1
