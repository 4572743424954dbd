import numpy as np

from isomorph.bounds.interval import Interval, within
from isomorph.bounds.rounding import (
    error_of_terms,
    largest,
    overflow_begins,
    rounded_constant,
    rounds_to_zero,
    type_rounding,
)


def test_the_number_from_which_on_float16_is_infinite():
    begins = overflow_begins("float16")
    with np.errstate(over="ignore"):
        assert np.isinf(np.float16(begins))
        assert np.isfinite(np.float16(np.nextafter(begins, 0.0)))
    assert largest("float16") == 65504.0
    assert overflow_begins("bfloat16") > largest("bfloat16")


def test_the_narrower_of_two_types_is_what_rounds():
    assert type_rounding("float32", None).stored == 2.0**-24
    assert type_rounding("float32", "float16").stored == 2.0**-11
    assert type_rounding("float16", "float32").stored == 2.0**-11
    assert type_rounding("float32", "int8").stored == 2.0**-24


def test_a_stored_result_holds_every_rounding():
    rounding = type_rounding("float32", "float16")
    values = np.random.default_rng(0).uniform(-70, 70, 2000)
    kept = rounding.kept(Interval(values, values))
    stored = values.astype(np.float16).astype(np.float64)
    assert (kept.lower <= stored).all()
    assert (stored <= kept.upper).all()


def test_a_sum_of_many_terms_holds_the_float32_sum():
    random = np.random.default_rng(1)
    values = random.standard_normal((200, 4096))
    exact, size = values.sum(axis=1), np.abs(values).sum(axis=1)
    found = type_rounding("float32", None).results(Interval(exact, exact), size, 4096)
    run = np.add.reduce(values.astype(np.float32), axis=1, dtype=np.float32).astype(np.float64)
    assert (found.lower <= run).all()
    assert (run <= found.upper).all()
    assert error_of_terms(1e9, 2.0**-11) > 1e3  # no bound, and no failure


def test_what_is_not_negative_stays_so():
    rounding = type_rounding("float32", "float16")
    assert rounding.kept(within((2,), 0.0, 1.0)).least == 0.0
    assert rounding.results(within((2,), 0.0, 1.0), 5.0).least < 0.0
    assert rounding.results(within((2,), 0.0, 1.0), 5.0, keeps_sign=True).least == 0.0


def test_numbers_that_are_lost():
    assert rounds_to_zero(np.array([0.0, 1e-12, 1e-4]), "float16").tolist() == [False, True, False]


def test_constants_as_either_type_stores_them():
    found = rounded_constant(np.array([0.1, 1e9, 1e-9]), "float32", "float16")
    assert found.lower[0] < 0.1 or found.upper[0] > 0.1
    assert found.upper[1] == 1e9
    assert found.lower[2] == 0.0
