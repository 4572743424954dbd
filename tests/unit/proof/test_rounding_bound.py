"""What libraries compute lies within the bound, and what is exact has none."""

import numpy as np
import pytest

from isomorph.proof.real import FUNCTIONS
from isomorph.proof.rounding_bound import bounded, fitting
from isomorph.proof.terms import Terms

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(0.1, 30.0, (40, 50)).astype(np.float32)
Y = RANDOM.uniform(0.1, 2.0, (50, 30)).astype(np.float32)


@pytest.fixture
def t():
    return Terms()


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "tanh", "erf"])
def test_a_function_in_float32_lies_within_its_bound(t, name):
    term = t.function(name, (t.constant(X, "float32"),))
    value = np.asarray(FUNCTIONS[name](X), np.float64)
    bound = bounded(term, {})
    assert fitting(value, bound, "float32") is not None
    wrong = value.copy()
    wrong[3, 4] *= 1 + 20 * 2.0**-24
    assert fitting(wrong, bound, "float32") is None


def test_the_error_of_an_argument_is_enlarged_by_the_slope(t):
    tenth = t.mul(t.constant(X, "float32"), t.number(0.1, "float32"))
    value = np.exp(X * np.float32(0.1))
    plain = bounded(t.function("exp", (t.constant(X * np.float32(0.1), "float32"),)), {})
    chained = bounded(t.function("exp", (tenth,)), {})
    assert fitting(value.astype(np.float64), chained, "float32") is not None
    assert (chained[1] > plain[1]).all()


@pytest.mark.parametrize("order", [1, -1])
def test_sums_in_any_order_lie_within_their_bound(t, order):
    x, y = X[:, ::order], Y[::order]
    product = bounded(t.matmul(t.constant(X, "float32"), t.constant(Y, "float32")), {})
    total = bounded(t.sum(t.constant(X, "float32"), (1,)), {})
    assert fitting((x @ y).astype(np.float64), product, "float32") is not None
    assert fitting(np.cumsum(x, 1)[:, -1].astype(np.float64), total, "float32") is not None


def test_powers(t):
    base, exponent = X, np.linspace(-2, 2, 50).astype(np.float32)
    term = t.function("pow", (t.constant(base, "float32"), t.constant(exponent, "float32")))
    value = np.power(base, exponent).astype(np.float64)
    assert fitting(value, bounded(term, {}), "float32") is not None
    assert fitting(value * 1.00001, bounded(term, {}), "float32") is None


def test_an_unknown_function_has_no_bound(t):
    assert bounded(t.function("round", (t.constant(X, "float32"),)), {}) is None
