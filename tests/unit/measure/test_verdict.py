from dataclasses import replace

import numpy as np
import pytest

from isomorph.core.divergence import Judgment, Verdict
from isomorph.core.messages import message
from isomorph.measure.draws_needed import beyond_doubt
from isomorph.measure.findings import of_outputs
from isomorph.measure.moments import Moments
from isomorph.measure.spread import Spread, threshold
from isomorph.measure.verdict import Evidence, Question, decide, graphs_measured_to_differ
from isomorph.oracle.draw_accumulator import DrawAccumulator

U = 2.0**-24
ORACLE = np.linspace(1.0, 2.0, 12).reshape(3, 4)


def spread_of(size, shape=(3, 4)):
    return Spread(draws=10, deviation=np.full(shape, size), unsettled=np.zeros(shape, bool))


def side(run=None, oracle=ORACLE, rounding=4 * U, written=None):
    noise = None if rounding is None else spread_of(rounding)
    return Evidence(
        name="y",
        run=(ORACLE if run is None else run).astype(np.float32),
        oracle=oracle,
        rounding=noise,
        execution=noise,
        unoptimized_outputs=lambda: written,
    )


def ask(**rest):
    tight = rest.pop("allowance", spread_of(1e-12))
    return Question(dtype="float32", false_alarm=1e-6, allowance=lambda: tight, **rest)


def test_equal_meanings_and_runs_are_equivalent():
    assert decide(side(), side(), ask()).verdict is Verdict.EQUIVALENT


def test_another_function_is_divergent():
    wrong = side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3)
    assert decide(side(), wrong, ask()).verdict is Verdict.DIVERGENT


def test_a_difference_below_rounding_is_equivalent_but_shown():
    near = side(run=ORACLE, oracle=ORACLE + 3 * U)
    result = decide(side(), near, ask())
    assert result.verdict is Verdict.EQUIVALENT
    assert result.translation.budget.within is Judgment.NO


OWN = 4 * U * 2.0**-29 * np.sqrt(2.0)
"""The deviation of the rounding of both oracles themselves."""


def test_what_float64_itself_rounds_is_no_translation_error_and_costs_no_allowance():
    def refused():
        raise AssertionError("constants were disturbed for a difference that float64 makes itself")

    near = side(oracle=ORACLE + 3 * OWN)
    question = Question(dtype="float32", false_alarm=1e-6, allowance=refused)
    translation = decide(side(), near, question).translation
    limit = threshold(ORACLE.size, 1e-6)
    assert translation.budget.within is Judgment.YES
    assert translation.budget.lower_bound
    assert translation.budget.ratio == pytest.approx(3 / limit, rel=0.2)


def test_a_difference_beyond_the_rounding_of_float64_is_compared_with_the_allowance():
    asked = []
    near = side(oracle=ORACLE + 20 * OWN)
    for allowance, within in ((1e-18, Judgment.NO), (20 * OWN, Judgment.YES)):
        question = Question(
            dtype="float32",
            false_alarm=1e-6,
            allowance=lambda size=allowance: asked.append(size) or spread_of(size),
        )
        assert decide(side(), near, question).translation.budget.within is within
    assert len(asked) == 2


def test_a_difference_that_a_node_proves_states_that_no_allowance_was_drawn():
    far = side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3)
    proven = Question(dtype="float32", false_alarm=1e-6, allowance=None)
    assert decide(side(), far, proven).translation.budget.float64_rounding
    assert not decide(side(), far, ask()).translation.budget.float64_rounding


@pytest.mark.parametrize(
    ("quantized", "verdict"), [(False, Verdict.EQUIVALENT), (True, Verdict.DIVERGENT)]
)
def test_constants_rounded_again_explain_a_difference_unless_a_grid_follows(quantized, verdict):
    moved = side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3)
    assert decide(side(), moved, ask(allowance=spread_of(1e-3), quantized=quantized)).verdict is (
        verdict
    )


def test_a_bad_run_of_the_candidate_is_divergent():
    result = decide(side(), side(run=ORACLE + 1e-3), ask())
    assert result.verdict is Verdict.DIVERGENT
    assert result.execution_candidate.budget.within is Judgment.NO


def test_a_bad_run_of_the_reference_alone_is_unknown():
    result = decide(side(run=ORACLE + 1e-3), side(), ask())
    assert result.verdict is Verdict.UNKNOWN
    assert "reference" in result.reason


def test_agreeing_runs_with_a_disagreeing_oracle_are_unknown():
    result = decide(side(), side(oracle=ORACLE + 1e-3), ask())
    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == message("UNKNOWN.oracle")


def test_a_fault_that_only_the_optimizer_hides_is_divergent():
    hidden = side(oracle=ORACLE + 1e-3, written=(ORACLE + 1e-3).astype(np.float32))
    assert decide(side(), hidden, ask()).verdict is Verdict.DIVERGENT


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(1e-3, Verdict.DEGRADED), (1e-1, Verdict.DIVERGENT), (0.0, Verdict.EQUIVALENT)],
)
def test_a_lossy_candidate_is_judged_by_the_loss_it_intends(error, verdict):
    lossy = side(run=ORACLE + error, oracle=ORACLE + error, rounding=2.0**-11)
    question = ask(lossy=True, intended=lambda: spread_of(1e-3))
    assert decide(side(), lossy, question).verdict is verdict


def test_without_a_budget_nothing_is_fine():
    assert decide(side(rounding=None, oracle=ORACLE), side(), ask()).verdict is Verdict.UNKNOWN


def test_a_stated_budget_replaces_the_derived_one():
    wrong = side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3)
    assert decide(side(), wrong, ask(budget=1e-2)).verdict is Verdict.EQUIVALENT
    assert decide(side(), wrong, ask(budget=1e-4)).verdict is Verdict.DIVERGENT


def test_infinities_are_expected_where_the_type_overflows():
    big = np.array([[1e39, 1.0]])
    run = np.array([[np.inf, 1.0]])
    one = Evidence(
        name="y",
        run=run.astype(np.float32),
        oracle=big,
        rounding=spread_of(1e-8, (1, 2)),
        execution=spread_of(1e-8, (1, 2)),
    )
    question = Question(
        dtype="float32", false_alarm=1e-6, allowance=lambda: spread_of(1e-8, (1, 2))
    )
    assert decide(one, one, question).verdict is Verdict.EQUIVALENT


def _flipping(second):
    """Ten draws of the integers 1 and 2, every other one with another second number."""
    center = np.array([1, 2])
    drawing = DrawAccumulator(center, Moments(center))
    for draw in range(10):
        drawing.add(np.array([1, second if draw % 2 else 2]))
    return drawing.finish().spread(10)


def test_integers_may_differ_only_where_noise_moves_them():
    settled = _flipping(3)
    question = Question(dtype="int64", false_alarm=1e-6, allowance=lambda: settled)

    def index(a, b):
        array = np.array([a, b])
        return Evidence(
            name="i", run=array, oracle=np.array([1, 2]), rounding=settled, execution=settled
        )

    assert decide(index(1, 2), index(1, 3), question).verdict is Verdict.EQUIVALENT
    assert decide(index(1, 2), index(0, 2), question).verdict is Verdict.DIVERGENT


def test_a_tie_that_float64_breaks_the_other_way_is_no_difference():
    tie, certain = _flipping(3), _flipping(2)
    question = Question(dtype="int64", false_alarm=1e-6, allowance=lambda: certain)

    def index(*oracle):
        value = np.array(oracle)
        return Evidence(name="i", run=value, oracle=value, rounding=tie, execution=tie)

    result = decide(index(1, 2), index(1, 3), question)
    assert result.verdict is Verdict.EQUIVALENT
    assert result.translation.budget.within is Judgment.YES
    assert decide(index(1, 2), index(1, 9), question).verdict is Verdict.DIVERGENT


def test_an_overflow_of_the_narrower_side_is_a_difference():
    big, small = np.array([[85000.0, 1.0]]), spread_of(1e-3, (1, 2))
    wide = Evidence(
        name="y", run=big.astype(np.float32), oracle=big, rounding=small, execution=small
    )
    half = np.array([[np.inf, 1.0]], np.float16)
    narrow = Evidence(name="y", run=half, oracle=big, rounding=small, execution=small)
    question = Question(
        dtype="float16", false_alarm=1e-6, lossy=True, intended=lambda: spread_of(10.0, (1, 2))
    )
    result = decide(wide, narrow, question)
    assert result.verdict is Verdict.DIVERGENT
    assert result.execution_reference.budget.within is Judgment.YES
    assert result.observed.distance.nonfinite_mismatch == 1
    alone = Question(dtype="float16", false_alarm=1e-6, allowance=lambda: small)
    assert decide(narrow, narrow, alone).verdict is Verdict.EQUIVALENT


def _far_off(ratio, draws=3):
    def noise(size):
        return replace(spread_of(size), draws=draws)

    off = ratio * threshold(12) * 4 * U * np.sqrt(2)
    ref, wrong = side(), side(run=ORACLE + off, oracle=ORACLE + off)
    sides = [replace(each, rounding=noise(4 * U), execution=noise(4 * U)) for each in (ref, wrong)]
    return decide(*sides, ask(allowance=noise(1e-12)))


def test_few_draws_are_enough_for_what_is_far_off_in_a_smooth_graph():
    assert beyond_doubt(_far_off(300), 1e-6, smooth=True)
    assert not beyond_doubt(_far_off(300), 1e-6, smooth=False)
    assert not beyond_doubt(_far_off(50), 1e-6, smooth=True)
    assert beyond_doubt(_far_off(50, draws=5), 1e-6, smooth=True)
    assert beyond_doubt(_far_off(50, draws=10), 1e-6, smooth=True)


def test_a_number_that_is_none_deserves_more_draws():
    broken = ORACLE.copy()
    broken[0, 0] = np.nan
    divergence = decide(side(), side(run=broken, oracle=broken), ask())
    assert divergence.verdict is Verdict.DIVERGENT
    assert not beyond_doubt(divergence, 1e-6, smooth=True)


def test_runs_that_agree_and_are_both_off_are_reported():
    off = side(run=ORACLE + 1e-3)
    same = decide(off, off, ask())
    assert same.verdict is Verdict.EQUIVALENT
    assert [each.code for each in of_outputs([same])] == ["BOTH_RUNS_OFF"]
    assert list(of_outputs([decide(side(), side(), ask())])) == []


def test_graphs_are_measured_to_differ_only_where_their_float64_values_do():
    other = side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3)
    assert graphs_measured_to_differ(decide(side(), other, ask()))
    wrong_run = decide(side(), side(run=ORACLE + 1e-3), ask())
    assert wrong_run.verdict is Verdict.DIVERGENT
    assert not graphs_measured_to_differ(wrong_run)
    assert not graphs_measured_to_differ(decide(side(), side(), ask()))


def test_runs_without_oracles_measure_nothing_of_graphs():
    found = decide(side(), side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3), ask())
    assert not graphs_measured_to_differ(replace(found, rounding=None, translation=None))


def test_a_loss_of_the_graph_is_measured_and_one_of_rounding_is_not():
    found = decide(side(), side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3), ask())
    assert graphs_measured_to_differ(replace(found, verdict=Verdict.DEGRADED))
    assert not graphs_measured_to_differ(replace(found, verdict=Verdict.UNKNOWN))
    within = replace(found.translation, budget=replace(found.translation.budget, ratio=0.5))
    assert not graphs_measured_to_differ(replace(found, translation=within))


def quantizing(size, execution):
    """A candidate with the reference's oracle, whose run is off, and what its kernels lose."""
    return replace(side(run=ORACLE + size), execution=spread_of(execution))


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(0.0, Verdict.EQUIVALENT), (1e-2, Verdict.DEGRADED), (1.0, Verdict.DIVERGENT)],
)
def test_activations_that_the_candidate_alone_quantizes_are_a_declared_loss(size, verdict):
    found = decide(side(), quantizing(size, 1e-2), ask(run_quantizes=True))
    assert found.verdict is verdict


def test_what_the_reference_quantizes_is_its_own_loss():
    found = decide(quantizing(1e-2, 1e-2), side(), ask())
    assert found.verdict is Verdict.EQUIVALENT


def test_quantized_activations_excuse_no_other_graph():
    wrong = replace(side(run=ORACLE + 1e-3, oracle=ORACLE + 1e-3), execution=spread_of(1e-2))
    assert decide(side(), wrong, ask(run_quantizes=True)).verdict is Verdict.DIVERGENT


def test_a_quantizer_of_the_reference_makes_no_lossy_candidate_equivalent():
    reference = replace(side(), execution=spread_of(1e-2))
    loss = {"lossy": True, "intended": lambda: spread_of(1e-2)}
    wide = replace(side(run=ORACLE + 1e-3), execution=spread_of(1e-2))
    assert decide(reference, wide, ask(**loss)).verdict is Verdict.DEGRADED
