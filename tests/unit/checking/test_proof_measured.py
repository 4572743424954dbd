"""A proof keeps an output only where the float64 values of both sides agree on a sample."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.checking.proof_measured import measured
from isomorph.core.proof import Assumptions, OutputProof, Proof, Reason, Standing
from isomorph.core.stated_numbers import PROOF_AMPLIFICATION, PROOF_FLOAT64

VALUE = np.array([[1.0, -4.0], [0.5, 2.0]])


class Oracle:
    """Gives the values that it was made with, and notes what was asked for."""

    def __init__(self, values):
        self.values, self.asked = values, []

    def run(self, feeds, names):
        self.asked.append((dict(feeds), list(names)))
        return {name: self.values[name] for name in names}


def side(**values):
    oracle = Oracle(values)
    return SimpleNamespace(handle=SimpleNamespace(oracle=lambda: oracle), feeds={"x": 3}), oracle


def proof(*standings, rounding=0.0):
    outputs = tuple(
        OutputProof(reference=f"y{at}", candidate=f"z{at}", standing=standing)
        for at, standing in enumerate(standings)
    )
    assumptions = Assumptions(shapes={"x": (1,)}, largest_rounding=rounding)
    return Proof(
        reference="a", candidate="b", outputs=outputs, nodes=(), chance=0.0, seed=1,
        assumptions=assumptions,
    )  # fmt: skip


def looked_at(one, other, rounding=0.0):
    (left, _), (right, _) = side(y0=one), side(z0=other)
    return measured((left, right), proof(Standing.PROVEN, rounding=rounding)).outputs[0]


@pytest.mark.parametrize("factor", [1.0, 1.0 + PROOF_FLOAT64 / 2])
def test_equal_values_keep_a_proof(factor):
    assert looked_at(VALUE, VALUE * factor).standing is Standing.PROVEN


def test_other_values_open_it_and_say_how_far_they_are_apart():
    found = looked_at(VALUE, VALUE + np.array([[0.0, 0.0], [0.0, 0.04]]))
    assert found.standing is Standing.OPEN
    assert found.open.reason is Reason.MEASURED
    assert found.open.details == "0.01"


def test_constants_that_were_rounded_again_allow_some_roundings_of_float32():
    near = VALUE * (1.0 + PROOF_AMPLIFICATION * 2.0**-25)
    far = VALUE * (1.0 + PROOF_AMPLIFICATION * 2.0**-23)
    assert looked_at(VALUE, near).standing is Standing.OPEN
    assert looked_at(VALUE, near, rounding=1e-8).standing is Standing.PROVEN
    assert looked_at(VALUE, far, rounding=1e-8).standing is Standing.OPEN


def test_equal_infinities_and_nans_are_equal_and_others_are_not():
    special = np.array([np.inf, -np.inf, np.nan, 1.0])
    assert looked_at(special, special.copy()).standing is Standing.PROVEN
    assert looked_at(special, -special).standing is Standing.OPEN
    assert looked_at(special, np.array([np.inf, -np.inf, 0.0, 1.0])).standing is Standing.OPEN


def test_another_shape_is_another_value():
    assert looked_at(np.ones((2, 1)), np.ones(2)).standing is Standing.OPEN


def test_outputs_of_zeros_are_compared_as_they_are():
    assert looked_at(np.zeros(2), np.full(2, 1e-12)).standing is Standing.PROVEN
    assert looked_at(np.zeros(2), np.full(2, 1e-3)).standing is Standing.OPEN


def test_only_proven_outputs_are_evaluated():
    (left, ours), (right, other) = side(y1=VALUE), side(z1=VALUE)
    given = proof(Standing.OPEN, Standing.PROVEN)
    assert measured((left, right), given).outputs == given.outputs
    assert ours.asked == [({"x": 3}, ["y1"])]
    assert other.asked == [({"x": 3}, ["z1"])]


def test_nothing_is_evaluated_where_nothing_is_proven():
    (left, ours), (right, _) = side(), side()
    given = proof(Standing.OPEN)
    assert measured((left, right), given) is given
    assert ours.asked == []
