"""Bounds that hold for every input."""

import math

import numpy as np
import pytest

from isomorph.proof import spelling as spell
from isomorph.proof.magnitudes import magnitude
from isomorph.proof.real import evaluated
from isomorph.proof.terms import Terms

RANDOM = np.random.default_rng(0)
W = RANDOM.normal(size=(6, 3))


@pytest.fixture
def t():
    return Terms()


def made(t):
    """Terms of one input that have a bound."""
    x = t.input("x", (2, 6), "float32")
    normal = spell.normalized(t, x, (1,), 1e-5)
    weights = t.constant(W, "float32")
    return {
        "normalized": normal,
        "root mean square": spell.rms_normalized(t, x, (1,), 1e-6),
        "product": t.matmul(normal, weights),
        "sum": t.sum(spell.unary(t, "tanh", x), (1,)),
        "sigmoid": spell.sigmoid(t, x),
        "sliced": t.slice(t.add(normal, t.constant(np.arange(6.0), "float32")), 1, 0, 3),
        "clipped": t.maximum(spell.unary(t, "sin", x), t.number(-3.0, "float32")),
    }


@pytest.mark.parametrize("name", sorted(made(Terms())))
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6])
def test_no_input_exceeds_a_bound(t, name, scale):
    term = made(t)[name]
    bound = magnitude(term)
    assert math.isfinite(bound)
    for _ in range(20):
        x = RANDOM.normal(size=(2, 6)) * scale
        x[0] = np.eye(6)[0] * scale
        with np.errstate(over="ignore"):
            assert np.abs(evaluated(term, {"x": x})).max() <= bound * (1 + 1e-12)


def test_a_normalization_is_bounded_by_the_root_of_its_count(t):
    assert magnitude(made(t)["normalized"]) == pytest.approx(math.sqrt(6))


def test_what_is_not_known_has_no_bound(t):
    x = t.input("x", (2, 6), "float32")
    y = t.input("y", (2, 6), "float32")
    squares = spell.mean(t, t.mul(y, y), (1,), kept=True)
    of_another = t.div(x, spell.sqrt(t, t.add(squares, t.number(1.0, "float32"))))
    along = spell.mean(t, t.mul(x, x), (0,), kept=True)
    fewer = t.mul(t.add(x, y), t.inverse(spell.sqrt(t, t.add(along, t.number(1.0, "float32")))))
    for term in (x, t.add(x, y), spell.unary(t, "exp", x), of_another, fewer, t.mul(x, x)):
        assert magnitude(term) == math.inf
