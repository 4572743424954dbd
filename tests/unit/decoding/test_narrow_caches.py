"""Caches for a candidate of a narrower type."""

import numpy as np

from isomorph.decoding.narrow_caches import in_narrower

NUMBERS = np.array([0.1, 1.0, 3.14159], np.float32)


def test_numbers_are_those_that_the_narrower_type_holds():
    rounded = in_narrower(NUMBERS, "float16")
    assert rounded.dtype == np.float32
    np.testing.assert_array_equal(rounded, NUMBERS.astype(np.float16).astype(np.float32))
    assert np.any(rounded != NUMBERS)


def test_a_type_that_is_as_wide_changes_nothing():
    for dtype in ("float32", "float64", "int64", None):
        assert in_narrower(NUMBERS, dtype) is NUMBERS


def test_integers_stay():
    ids = np.array([1, 70000])
    assert in_narrower(ids, "float16") is ids


def test_what_the_narrower_type_does_not_reach_stays():
    np.testing.assert_array_equal(in_narrower(np.array([1e6, 1.0]), "float16"), [1e6, 1.0])
