"""Which scores a mask hides for every input."""

import math

import numpy as np
import pytest

from isomorph.proof import spelling as spell
from isomorph.proof.hidden_scores import LOWEST_EXPONENT, with_hidden_scores
from isomorph.proof.terms import Terms

LEAST = LOWEST_EXPONENT * math.log(2.0)


@pytest.mark.parametrize(
    ("number", "hidden"), [(-1e38, True), (LEAST - 3, True), (LEAST - 1.9, False), (-1e3, False)]
)
def test_only_weights_that_no_type_holds_are_hidden(number, hidden):
    t = Terms()
    scores = spell.unary(t, "tanh", t.input("x", (2, 3), "float32"))
    mask = np.array([[0.0, number, 0.0], [0.0, 0.0, 0.0]])
    x = t.add(scores, t.constant(mask, "float32"))
    found = with_hidden_scores(t, x, 1)
    assert (found is not x) == hidden
    assert t.vanishing == hidden
    assert found.finite != hidden


def test_a_row_of_equal_numbers_hides_nothing():
    t = Terms()
    scores = spell.unary(t, "tanh", t.input("x", (2, 3), "float32"))
    x = t.add(scores, t.constant(np.array([[-1e38] * 3, [0.0] * 3]), "float32"))
    assert with_hidden_scores(t, x, 1) is x


def test_scores_without_a_bound_are_not_hidden():
    t = Terms()
    x = t.add(t.input("x", (2, 3), "float32"), t.constant(np.array([0.0, -1e38, 0.0]), "float32"))
    assert with_hidden_scores(t, x, 1) is x
