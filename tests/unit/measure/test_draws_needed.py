"""Whether more draws could change a verdict, by how much of a budget is used."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.chance import largest_deficit
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.core.stated_numbers import MISSED_FINDING, PROBABLY_NOT
from isomorph.measure.draws_needed import (
    allowance_settled,
    beyond_doubt,
    doubtful,
    loss_in_doubt,
    may_settle,
    most_draws,
    out_of_reach,
    settled_but_for_translation,
    values_in_doubt,
    widened_by_few_draws,
)
from isomorph.measure.spread import comfortable, hopeless, student, threshold

ELEMENTS, DRAWS, FREEDOM, ALARM = 100, 3, 20.0, 1e-6
WELL_WITHIN = comfortable(DRAWS, ELEMENTS, FREEDOM, ALARM)
FAR_BEYOND = hopeless(DRAWS, ELEMENTS, FREEDOM, ALARM)


def term(ratio, draws=DRAWS, freedom=FREEDOM, **more):
    distance = Distance(
        elements=ELEMENTS, compared=1, differing=1, nonfinite_mismatch=0, signed_zero_mismatch=0,
        max_abs=1.0, max_rel=1.0, max_ulp=1.0, rms=1.0, relative_l2=1.0, sqnr_db=None,
        cosine=None, argmax_agreement=None, worst_index=None,
    )  # fmt: skip
    budget = Budget(derivation="", ratio=ratio, draws=draws, freedom=freedom, **more)
    return ErrorTerm(distance=distance, budget=budget)


WITHIN, DOUBT, BEYOND = term(WELL_WITHIN / 2), term(1.01), term(2 * FAR_BEYOND)
NEARLY = term((WELL_WITHIN + 1) / 2)
"""Within the budget of few draws, and maybe not within that of many."""


def judged(verdict="equivalent", **terms):
    return Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(ELEMENTS,),
        verdict=Verdict(verdict), reason="", **terms,
    )  # fmt: skip


def test_the_limits_of_the_examples_are_apart():
    assert 0 < WELL_WITHIN < 1 < FAR_BEYOND < math.inf


def test_equivalent_outputs_are_settled_where_every_error_is_well_within():
    assert beyond_doubt(judged(rounding=WITHIN, observed=WITHIN), ALARM)
    assert not beyond_doubt(judged(rounding=WITHIN, observed=NEARLY), ALARM)
    assert beyond_doubt(judged(rounding=term(None), observed=term(0.99, draws=0)), ALARM)
    assert not beyond_doubt(judged(rounding=replace_uncovered(WITHIN)), ALARM)


def replace_uncovered(part):
    return replace(part, budget=replace(part.budget, uncovered=1))


def test_a_divergence_is_settled_in_a_smooth_graph_where_no_error_is_near_its_budget():
    clear = judged("divergent", rounding=BEYOND, execution_candidate=WITHIN)
    assert beyond_doubt(clear, ALARM, smooth=True)
    assert not beyond_doubt(clear, ALARM)
    near = judged("divergent", rounding=DOUBT, execution_candidate=WITHIN)
    assert not beyond_doubt(near, ALARM, smooth=True)
    infinite = judged("divergent", rounding=term(math.inf))
    assert not beyond_doubt(infinite, ALARM, smooth=True)


def test_of_a_degraded_output_only_the_intended_loss_and_the_run_count():
    lossy = judged("degraded", rounding=DOUBT, intended_loss=WITHIN, execution_candidate=WITHIN)
    assert beyond_doubt(lossy, ALARM)
    assert not beyond_doubt(replace(lossy, intended_loss=NEARLY), ALARM)
    assert not beyond_doubt(replace(lossy, execution_candidate=NEARLY), ALARM)


def test_an_unknown_output_is_never_settled():
    assert not beyond_doubt(judged("unknown", rounding=WITHIN), ALARM, smooth=True)


def test_the_allowance_is_settled_well_within_it_or_far_beyond_in_a_smooth_graph():
    assert allowance_settled(judged(), ALARM, smooth=False)
    assert allowance_settled(judged(translation=WITHIN), ALARM, smooth=False)
    assert not allowance_settled(judged(translation=NEARLY), ALARM, smooth=True)
    beyond = judged("divergent", translation=BEYOND)
    assert allowance_settled(beyond, ALARM, smooth=True)
    assert not allowance_settled(beyond, ALARM, smooth=False)
    assert not allowance_settled(judged(translation=BEYOND), ALARM, smooth=True)


def test_an_equivalent_output_may_be_settled_but_for_its_allowance():
    found = judged(translation=BEYOND, rounding=WITHIN)
    assert settled_but_for_translation(found, ALARM)
    assert not beyond_doubt(found, ALARM)
    assert not settled_but_for_translation(replace(found, rounding=NEARLY), ALARM)
    assert not settled_but_for_translation(replace(found, verdict=Verdict.DIVERGENT), ALARM)


def test_an_allowance_that_decides_no_verdict_is_settled_sooner():
    likely = comfortable(DRAWS, ELEMENTS, FREEDOM, ALARM, mistake=MISSED_FINDING)
    assert WELL_WITHIN < likely < 1
    probable, beyond = term(0.99 * likely), term(1.01 * likely)
    assert beyond_doubt(judged(rounding=WITHIN, translation=probable), ALARM)
    assert allowance_settled(judged(rounding=WITHIN, translation=probable), ALARM, smooth=True)
    assert not beyond_doubt(judged(rounding=WITHIN, translation=beyond), ALARM)
    # Where rounding does not explain the difference, the allowance decides.
    for rounding in (NEARLY, BEYOND):
        undecided = judged(rounding=rounding, translation=probable)
        assert not beyond_doubt(undecided, ALARM)
        assert not allowance_settled(undecided, ALARM, smooth=True)


def test_a_value_that_no_draw_reached_is_in_doubt():
    assert values_in_doubt(judged(observed=replace_uncovered(WITHIN)))
    assert values_in_doubt(judged(execution_reference=term(math.inf)))
    assert not values_in_doubt(judged(observed=BEYOND, rounding=term(None)))


def test_few_draws_widen_a_threshold_and_that_is_seen():
    few, many = student(ELEMENTS, FREEDOM, ALARM), threshold(ELEMENTS, ALARM)
    assert few > many
    wide = term(0.99, threshold=few)
    assert widened_by_few_draws(judged(rounding=wide), ALARM)
    assert not widened_by_few_draws(judged(rounding=term(0.99 * many / few, threshold=few)), ALARM)
    exact = term(0.99, freedom=None, threshold=few)
    assert not widened_by_few_draws(judged(rounding=exact), ALARM)
    assert not widened_by_few_draws(judged(rounding=term(1.5, threshold=few)), ALARM)


@pytest.mark.parametrize(
    ("verdict", "loss", "doubt"),
    [
        ("divergent", DOUBT, True),
        ("divergent", BEYOND, False),
        ("divergent", WITHIN, False),
        ("divergent", term(math.inf), False),
        ("divergent", term(None), False),
        ("divergent", None, False),
        ("degraded", DOUBT, False),
    ],
)
def test_a_loss_is_in_doubt_where_it_is_little_beyond_its_budget(verdict, loss, doubt):
    found = judged(verdict, intended_loss=loss, execution_candidate=WITHIN)
    assert loss_in_doubt(found, ALARM) is doubt
    assert doubtful(found, ALARM) is doubt
    assert not doubtful(replace(found, execution_candidate=DOUBT), ALARM)
    assert not doubtful(replace(found, execution_candidate=None), ALARM)


@given(st.lists(st.integers(0, 50), max_size=5))
def test_the_most_draws_are_those_of_any_output(draws):
    found = [judged(rounding=term(0.5, draws=each)) for each in draws]
    assert most_draws(found) == max(draws, default=0)
    assert most_draws([judged(intended_loss=term(0.5, draws=7)), *found]) >= 7


def test_further_draws_may_settle_what_is_well_within_the_deviation_so_far():
    certain = comfortable(10, 1, false_alarm=ALARM)
    # The ratio to what many draws would allow, as three draws with this freedom show it.
    shown = threshold(ELEMENTS, ALARM) / student(ELEMENTS, FREEDOM, ALARM)
    luck = math.sqrt(largest_deficit(FREEDOM, 1, PROBABLY_NOT))
    assert luck > 1
    for share, settles in ((0.5, True), (0.95 * luck, True), (1.05 * luck, False)):
        each = judged(observed=term(share * certain * shown))
        assert may_settle(each, 10, ALARM) is settles, share
    assert may_settle(judged(observed=WITHIN, translation=BEYOND), 10, ALARM)
    assert not may_settle(judged(observed=WITHIN, execution_reference=BEYOND), 10, ALARM)
    assert may_settle(judged(observed=WITHIN), DRAWS, ALARM)
    assert not may_settle(judged(observed=NEARLY), DRAWS, ALARM), "no further draw is asked for"


def test_an_error_far_beyond_its_budget_is_out_of_reach_but_not_one_of_the_allowance():
    assert out_of_reach(judged(observed=WITHIN, execution_reference=BEYOND), ALARM)
    for each in (WITHIN, NEARLY, DOUBT):
        assert not out_of_reach(judged(observed=each, translation=BEYOND), ALARM)
