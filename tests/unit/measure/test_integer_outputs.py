"""Integers that a candidate's float cannot hold are another result, whatever rounding allows."""

import numpy as np
import pytest

from isomorph.core.divergence import Divergence, Verdict
from isomorph.measure.integer_outputs import judged_as_integers
from isomorph.measure.reached_values import Reached
from isomorph.measure.spread import Spread

EXACT = 2**24


def judgment(verdict=Verdict.EQUIVALENT):
    return Divergence(
        reference_output="y", candidate_output="y", dtype="int64", shape=(2,),
        verdict=verdict, reason="within",
    )  # fmt: skip


def spread(deviation=(0.0, 0.0), reached=()):
    return Spread(
        draws=3, deviation=np.array(deviation), unsettled=np.zeros(2, bool), reached=reached
    )


def verdict(reference, candidate, rounding=None, before=Verdict.EQUIVALENT):
    found = judged_as_integers(
        judgment(before), np.array(reference), candidate, rounding or spread()
    )
    return found.verdict


@pytest.mark.parametrize("sign", [1, -1])
def test_the_first_integer_beyond_the_digits_is_another_one(sign):
    value = sign * (EXACT + 1)
    assert verdict([0, value], np.float32([0, value])) is Verdict.DIVERGENT
    assert verdict([0, value], np.float64([0, value])) is Verdict.EQUIVALENT
    assert verdict([0, sign * EXACT], np.float32([0, sign * EXACT])) is Verdict.EQUIVALENT


def test_a_large_integer_that_the_float_holds_is_the_same():
    assert verdict([0, 2**40], np.float32([0, 2**40])) is Verdict.EQUIVALENT


def test_an_infinity_is_no_integer():
    assert verdict([0, EXACT + 2], np.float32([0, np.inf])) is Verdict.DIVERGENT


def test_what_rounding_moves_may_be_another():
    wrong = [0, EXACT + 1], np.float32([0, EXACT + 1])
    assert verdict(*wrong, spread((0.0, 1.0))) is Verdict.EQUIVALENT
    assert verdict(*wrong, spread((1.0, 0.0))) is Verdict.DIVERGENT
    moved = Reached(
        steps=np.array([[0.0, 0.0], [0.0, 1.0]]), plain=1, few=np.ones(2, bool), loose=np.zeros(2)
    )
    assert verdict(*wrong, spread(reached=(moved,))) is Verdict.EQUIVALENT


@pytest.mark.parametrize("before", [Verdict.UNKNOWN, Verdict.DIVERGENT, Verdict.DEGRADED])
def test_no_other_verdict_is_touched(before):
    assert verdict([0, EXACT + 1], np.float32([0, EXACT + 1]), before=before) is before


def test_what_cannot_be_compared_so_stays_as_it_was_judged():
    wrong = np.float32([0, EXACT + 1])
    for reference, candidate, rounding in (
        (None, wrong, spread()),
        (np.array([0, EXACT + 1]), None, spread()),
        (np.array([0, EXACT + 1]), wrong, None),
        (np.array([0.0, EXACT + 1]), wrong, spread()),
        (np.array([[0, EXACT + 1]]), wrong, spread()),
        (np.array([0, EXACT + 1]), np.array([0, EXACT]), spread()),
    ):
        assert judged_as_integers(judgment(), reference, candidate, rounding) == judgment()


def test_the_reason_names_the_integer_and_what_became_of_it():
    found = judged_as_integers(
        judgment(), np.array([0, EXACT + 1]), np.float32([0, EXACT]), spread()
    )
    assert "16777217 is 16777216" in found.reason
