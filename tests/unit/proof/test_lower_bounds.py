"""Bounds from below hold for every input, and what has none gets none."""

import math

import numpy as np
import pytest

from isomorph.proof import spelling as spell
from isomorph.proof.lower_bounds import least
from isomorph.proof.terms import Terms


@pytest.fixture
def t():
    return Terms()


def test_numbers_and_what_is_added_to_squares(t):
    x, three = t.input("x", (2, 4), "float32"), t.number(3.0, "float32")
    assert least(t.constant(np.array([2.0, -1.0]), "float32")) == -1.0
    assert least(x) == -math.inf
    assert least(t.mul(x, x)) == 0.0
    square = t.add(t.mul(x, x), three)
    assert least(square) == 3.0
    assert least(spell.sqrt(t, square)) == math.sqrt(3.0)
    assert least(t.sum(square, (1,))) == 12.0
    assert least(t.mul(square, square)) == 9.0
    assert least(t.maximum(x, three)) == 3.0
    assert least(t.inverse(square)) == 0.0
    assert least(t.sub(t.mul(x, x), three)) == -3.0


def test_the_divisor_of_a_softmax_is_one_or_more(t):
    x = t.input("x", (2, 4), "float32")
    top = spell.largest(t, x, (1,), kept=True)
    exponentials = t.function("exp", (t.sub(x, top),))
    assert least(t.sum(exponentials, (1,))) == 1.0
    assert least(t.sum(exponentials, (0,))) == 0.0
    other = t.function("exp", (t.sub(x, spell.largest(t, x, (0,), kept=True)),))
    assert least(t.sum(other, (1,))) == 0.0
    added = t.function("exp", (t.add(x, top),))
    assert least(t.sum(added, (1,))) == 0.0


def test_a_border_and_zeros_between_count(t):
    above = t.add(
        t.function("exp", (t.input("x", (1, 1, 4), "float32"),)), t.number(1.0, "float32")
    )
    assert least(above) == 1.0
    assert least(t.slice(above, 2, 1, 2)) == 1.0
    zero = t.number(0.0, "float32")
    assert least(t.pad(above, (0, 0, 1), (0, 0, 0), zero)) == 0.0
    assert least(t.spread(above, (2,))) == 0.0


def test_weights_of_a_softmax_are_not_negative(t):
    x = t.input("x", (2, 4), "float32")
    mask = t.constant(np.array([0.0, 0.0, -np.inf, 0.0]), "float32")
    weights = spell.softmax(t, t.add(x, mask), 1)
    assert weights.op == "rows"
    assert least(t.add(weights, t.number(0.5, "float32"))) == 0.5
