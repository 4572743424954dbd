import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.match.fingerprint_index import FingerprintIndex, may_be_equal
from isomorph.oracle.fingerprint import fingerprint

RNG = np.random.default_rng(3)


def test_the_order_of_the_axes_does_not_show():
    array = RNG.normal(size=(2, 3, 4))
    assert may_be_equal(fingerprint(array), fingerprint(array.transpose(2, 0, 1)), 1e-12, 1e-12)


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_what_is_equal_within_a_tolerance_is_never_missed(size, scale):
    array = scale * RNG.normal(size=size)
    step = 1e-4 * scale * RNG.normal(size=size)
    tolerance, reach = float(np.sqrt(np.mean(step**2))), float(np.max(np.abs(step)))
    slack = 1.0 + 1e-3  # of first order: the products of two steps are left out
    assert may_be_equal(
        fingerprint(array), fingerprint(array + step), slack * tolerance, slack * reach
    )


def test_other_values_are_another_print():
    array = RNG.normal(size=100)
    for other in (-array, 2 * array, array + 1, np.abs(array), np.where(array > 1, np.nan, array)):
        assert not may_be_equal(fingerprint(array), fingerprint(other), 1e-6, 1e-6)


def test_the_index_finds_by_the_noise_of_each_and_not_of_the_noisiest():
    arrays = {f"t{place}": np.full(4, 1.0 + place / 10) for place in range(10)}
    prints = {name: fingerprint(array) for name, array in arrays.items()}
    spread = dict.fromkeys(prints, 1e-9)
    wild = {"wild": float("inf"), "still": 0.0}
    prints |= {name: fingerprint(np.full(4, 5.0)) for name in wild}
    index = FingerprintIndex(prints, spread | wild)
    found = set(index.near(fingerprint(np.full(4, 1.3)), 1e-9, 6.0))
    assert found == {"t3", "wild"}
    assert "still" in set(index.near(fingerprint(np.full(4, 5.0)), 0.0, 6.0))
    assert not list(index.near(fingerprint(np.zeros(3)), 1e-9, 6.0))


@given(
    arrays(np.float64, (2, 12), elements=st.floats(-1e3, 1e3)), st.floats(0.0, 1.0),
)  # fmt: skip
def test_no_statistic_changes_by_more_than_its_bound(pair, share):
    one, other = pair[0], pair[0] + share * pair[1]
    step = other - one
    # Statistics are computed to float64 precision of the values themselves.
    slack = 1e-12 * (1.0 + float(np.max(np.abs(pair))))
    tolerance = float(np.sqrt(np.mean(np.square(step)))) + slack
    peak = float(np.max(np.abs(step))) + slack
    assert may_be_equal(fingerprint(one), fingerprint(other), tolerance, peak)
