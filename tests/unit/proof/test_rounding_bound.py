"""What libraries compute lies within the bound, and what is exact has none."""

import numpy as np
import pytest

from isomorph.proof import rounding_bound
from isomorph.proof.real import FUNCTIONS
from isomorph.proof.rounding_bound import bounded, first_of, fitting, is_off
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


def test_constants_of_a_narrow_type_are_computed_with_in_float64(t):
    narrow = t.constant(X, "float32")
    value, error = bounded(t.mul(narrow, narrow), {})
    assert value.dtype == error.dtype == np.float64
    assert (value == np.square(X.astype(np.float64))).all()
    assert (np.abs(np.square(X) - value) <= error).all()


def test_numbers_are_compared_to_the_last_block(t, monkeypatch):
    monkeypatch.setattr(rounding_bound, "_BLOCK", 7)
    bound = bounded(t.mul(t.constant(X, "float32"), t.number(0.1, "float32")), {})
    value = (X * np.float32(0.1)).astype(np.float64)
    assert fitting(value, bound, "float32") == np.max(np.abs(value - bound[0]) / bound[0])
    value.flat[-2] *= 1.00001
    assert fitting(value, bound, "float32") is None


def test_a_first_element_follows_from_first_elements(t):
    x, row = t.constant(X, "float32"), t.constant(X[:1], "float32")
    root = t.function("sqrt", (t.add(t.mul(x, row), t.number(0.3, "float32")),))
    for term in (root, t.transpose(t.inverse(root), (1, 0)), t.reshape(t.mul(root, x), (-1,))):
        (value, error), (first, off) = bounded(term, {}), first_of(term, {})
        assert (value.flat[0], error.flat[0]) == (first.item(), off.item())
    assert first_of(t.mul(t.sum(t.mul(x, row), (0,)), row), {}) is None


@pytest.mark.parametrize(("off", "expected"), [(1.0, False), (3.0, True), (np.nan, True)])
def test_a_first_number_is_off_beyond_what_may_fit(off, expected):
    first = np.array([2.0]), np.array([2.0**-23])
    assert is_off(2.0 + off * 2.0**-23, first, "float32") == expected


def test_a_first_element_that_is_known_is_not_read(t):
    def read():
        raise AssertionError("the whole constant is read")

    known = t.stored("digest", (2, 3), "float32", read, finite=True, first=np.ones(1, np.float32))
    (value, error) = first_of(t.mul(known, t.number(3.0, "float32")), {})
    assert (value.item(), error.item()) == (3.0, 0.0)
