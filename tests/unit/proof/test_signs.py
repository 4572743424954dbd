"""Which signs a term can have, and which functions of it are defined everywhere."""

import numpy as np
import pytest

from isomorph.proof import spelling as spell
from isomorph.proof.signs import EVERY, POSITIVE, ZERO, always_defined, signs
from isomorph.proof.terms import Terms


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def x(terms):
    return terms.input("x", (2, 3), "float32")


def test_nothing_is_known_of_an_input(x):
    assert signs(x) == EVERY
    assert not any(always_defined(x, name) for name in ("inverse", "sqrt", "log", "pow", "asin"))


def test_squares_and_magnitudes_may_be_zero(terms, x):
    for made in (terms.mul(x, x), terms.maximum(x, terms.neg(x)), spell.relu(terms, x)):
        assert signs(made) == ZERO | POSITIVE
        assert always_defined(made, "sqrt")
        assert not always_defined(made, "inverse")


def test_divisors_of_normalizations_and_softmax_are_positive(terms, x):
    spread = terms.add(
        spell.mean(terms, terms.mul(x, x), (1,), kept=True), terms.number(1e-5, "float32")
    )
    summed = spell.total(terms, terms.function("exp", (x,)), (1,), kept=True)
    for made in (spread, summed, spell.sigmoid(terms, x)):
        assert signs(made) == POSITIVE
        assert always_defined(made, "inverse")
    assert spell.normalized(terms, x, (1,), 1e-5).finite
    assert spell.softmax(terms, x, 1).finite


def test_an_epsilon_of_zero_is_no_protection(terms, x):
    assert not spell.normalized(terms, x, (1,), 0.0).finite


def test_signs_that_meet_may_cancel(terms, x):
    above = terms.function("exp", (x,))
    assert signs(terms.sub(above, terms.number(1.0, "float32"))) == EVERY
    assert signs(terms.sub(terms.neg(above), terms.number(1.0, "float32"))) == 1
    mixed = terms.constant(np.array([1.0, -1.0, 2.0]), "float32")
    assert not always_defined(terms.mul(above, mixed), "sqrt")
    assert always_defined(terms.mul(above, mixed), "inverse")


def test_a_border_of_zeros_is_zero(terms, x):
    padded = terms.pad(terms.function("exp", (x,)), (0, 0), (0, 1), terms.number(0.0, "float32"))
    assert signs(padded) == ZERO | POSITIVE
