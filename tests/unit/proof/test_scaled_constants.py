"""Numbers fit a stored tensor times a factor exactly where they fit the product and its bound."""

import numpy as np
import pytest

from isomorph.proof import scaled_constants
from isomorph.proof.rounding_bound import bounded, fitting
from isomorph.proof.scaled_constants import fitting_scaled, scaled
from isomorph.proof.terms import Terms

RANDOM = np.random.default_rng(0)
W = RANDOM.normal(size=(12, 5, 3, 3)).astype(np.float32)
ZEROS = W * (RANDOM.random(W.shape) > 0.2).astype(np.float32)
ROWS = RANDOM.uniform(0.5, 2.0, (12, 1, 1, 1)).astype(np.float32)
COLUMNS = RANDOM.uniform(0.5, 2.0, (5, 1, 1)).astype(np.float32)
ULP = np.float32(1 + 2.0**-22)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(scaled_constants, "_BLOCK", 100)


def product(weight, factor, *, exact=False):
    terms = Terms()
    given = terms.constant(factor, "float32")
    return terms.mul(terms.constant(weight, "float32"), given if exact else terms.inverse(given))


def changed(value, place, factor):
    other = value.copy()
    other.flat[place] *= factor
    return other


def both(term, value):
    """The answers with and without the whole product."""
    of = scaled(term, {})
    assert of is not None
    return fitting_scaled(value, of, "float32"), fitting(value, bounded(term, {}), "float32")


@pytest.mark.parametrize("weight", [W, ZEROS], ids=["nonzero", "zeros"])
@pytest.mark.parametrize("factor", [ROWS, COLUMNS, ROWS[:1]], ids=["rows", "columns", "one"])
@pytest.mark.parametrize("exact", [False, True])
def test_the_answer_is_that_of_the_whole_product(weight, factor, exact):
    term = product(weight, factor, exact=exact)
    folded = weight * factor if exact else weight / factor
    values = [folded, folded * ULP, *(changed(folded, at, ULP * ULP) for at in (0, 100, -2))]
    values += [changed(folded, 77, wrong) for wrong in (0.0, -1.0, np.nan, np.inf)]
    found = [both(term, each) for each in values]
    assert [one for one, _ in found] == [other for _, other in found]
    assert found[0][0] is not None
    assert found[1][0] is None
    assert found[-1][0] is None


@pytest.mark.parametrize("factor", [1e-200, 1e30])
def test_what_a_type_can_hardly_hold_is_computed_whole(factor):
    terms = Terms()
    tiny = terms.inverse(terms.constant(np.array([1 / factor]), "float64"))
    term = terms.mul(terms.constant(W.astype(np.float64), "float64"), tiny)
    one = fitting_scaled(W * factor, scaled(term, {}), "float64")
    assert one == fitting(W * factor, bounded(term, {}), "float64")


def test_the_whole_product_is_not_made_where_every_number_fits(monkeypatch):
    term, of = product(W, ROWS), []
    real = scaled_constants.product
    monkeypatch.setattr(
        scaled_constants, "product", lambda *given: of.append(given[0][0].size) or real(*given)
    )
    assert fitting_scaled(W / ROWS, scaled(term, {}), "float32") is not None
    assert max(of) < W.size / 4


def test_a_factor_with_as_many_elements_is_none():
    assert scaled(product(W, W + 9), {}) is None
    terms = Terms()
    assert (
        scaled(terms.add(terms.constant(W, "float32"), terms.constant(ROWS, "float32")), {}) is None
    )
