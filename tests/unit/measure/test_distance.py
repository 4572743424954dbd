import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.measure import compiled_distance
from isomorph.measure.distance import _BLOCK, distance


@pytest.fixture(scope="module", params=["in blocks", "fused"], autouse=True)
def way(request):
    """Everything holds of both ways; the compiled one is otherwise for large tensors only."""
    if request.param == "fused":
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            compiled_distance, "WORTH_COMPILING", 0 if request.param == "fused" else math.inf
        )
        for kinds in product((np.float32, np.float64), repeat=2):
            distance(*(np.ones(1, kind) for kind in kinds))  # compiled before anything is timed
        yield request.param


finite = st.floats(-(2.0**100), 2.0**100, allow_nan=False, width=32)
vectors = arrays(np.float32, st.integers(1, 40), elements=finite)


@given(vectors)
def test_a_tensor_is_at_no_distance_from_itself(x):
    d = distance(x, x.copy())
    assert (d.max_abs, d.differing, d.nonfinite_mismatch, d.max_ulp) == (0.0, 0, 0, 0.0)


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30))
def test_rounding_once_costs_at_most_half_an_ulp(x):
    oracle = np.array([x])
    assert distance(oracle.astype(np.float32), oracle, dtype="float32").max_ulp <= 0.5


@given(
    arrays(np.float64, 7, elements=st.floats(-1e6, 1e6)),
    arrays(np.float64, 7, elements=st.floats(-1e6, 1e6)),
)
def test_measures_agree_with_their_definitions(a, e):
    d = distance(a, e)
    assert d.max_abs == np.max(np.abs(a - e))
    assert d.rms == pytest.approx(np.sqrt(np.mean((a - e) ** 2)))
    if np.linalg.norm(e) > 0:
        assert d.relative_l2 == pytest.approx(np.linalg.norm(a - e) / np.linalg.norm(e))


def test_blocks_do_not_show():
    rng = np.random.default_rng(0)
    a, e = rng.normal(size=3 * _BLOCK + 5), rng.normal(size=3 * _BLOCK + 5)
    e[2 * _BLOCK + 3] = a[2 * _BLOCK + 3] + 100.0
    d = distance(a, e)
    assert d.worst_index == (2 * _BLOCK + 3,)
    assert d.max_abs == pytest.approx(100.0)
    assert d.rms == pytest.approx(np.sqrt(np.mean((a - e) ** 2)))


def test_misplaced_nan_is_counted_and_never_a_small_distance():
    d = distance(np.array([1.0, np.nan, np.inf, np.nan]), np.array([1.0, 2.0, -np.inf, np.nan]))
    assert (d.nonfinite_mismatch, d.compared, d.differing) == (2, 1, 2)


def test_zero_of_the_other_sign_is_counted_but_no_difference():
    d = distance(np.array([0.0, -0.0, 1.0]), np.array([-0.0, -0.0, 1.0]))
    assert (d.signed_zero_mismatch, d.differing) == (1, 0)


def test_large_integers_are_compared_exactly():
    a, b = np.array([2**62 + 1, -(2**62)]), np.array([2**62, 2**62])
    d = distance(a, b)
    assert (d.differing, d.max_abs) == (2, float(2**63))


def test_strings_and_booleans_are_equal_or_not():
    d = distance(np.array(["a", "b"], object), np.array(["a", "c"], object))
    assert (d.differing, d.worst_index, d.max_abs) == (1, (1,), None)
    assert distance(np.array([True, False]), np.array([True, True])).differing == 1


def test_empty_and_constant_zero_have_defined_results():
    d = distance(np.empty((0, 4)), np.empty((0, 4)))
    assert (d.elements, d.max_abs, d.cosine, d.sqnr_db) == (0, None, None, None)
    d = distance(np.zeros(3), np.zeros(3))
    assert (d.max_abs, d.cosine, d.sqnr_db, d.relative_l2) == (0.0, None, None, 0.0)
    d = distance(np.ones(3), np.zeros(3))
    assert (d.sqnr_db, d.relative_l2, d.max_rel) == (-math.inf, None, None)


def test_bfloat16_is_measured_by_its_own_ruler():
    import ml_dtypes

    oracle = np.array([1.0, 3.14159])
    d = distance(oracle.astype(ml_dtypes.bfloat16), oracle, dtype="bfloat16")
    assert 0.0 < d.max_ulp <= 0.5


def test_shapes_are_never_broadcast():
    with pytest.raises(ValueError, match="cannot be compared"):
        distance(np.zeros((1, 4)), np.zeros(4))


def test_argmax_agreement_counts_rows():
    a = np.array([[1.0, 2.0], [4.0, 3.0]])
    assert distance(a, a[:, ::-1]).argmax_agreement == 0.0
    assert distance(a, a * 2).argmax_agreement == 1.0


@given(arrays(np.float32, 9, elements=st.floats(width=32)), arrays(np.float64, 9))
def test_both_ways_give_the_same(a, e):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_distance, "WORTH_COMPILING", math.inf)
        plain = distance(a, e, dtype="float32")
    other = distance(a, e, dtype="float32")
    for field in ("compared", "differing", "nonfinite_mismatch", "signed_zero_mismatch",
                  "max_abs", "max_rel", "max_ulp", "worst_index"):  # fmt: skip
        assert getattr(other, field) == getattr(plain, field), field
    for field in ("rms", "relative_l2", "cosine"):
        expected = getattr(plain, field)
        assert getattr(other, field) == (expected and pytest.approx(expected, nan_ok=True)), field
