"""What is called exact is added without any error, in every order; measured numbers never are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isomorph.kernels.registry import load_all
from isomorph.oracle.exact_sums import at_most_one, on_grid, sums_of
from one_node import OneNode, rounding

load_all()
UNIT = 2.0**-24
SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(0, 12), st.integers(1, 20), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_sums_of_coarse_numbers_are_equal_in_every_order(seed, places, bits, length):
    random = np.random.default_rng(seed)
    x = random.integers(-(2**bits), 2**bits, size=(length, 8)) * 2.0**-places
    total, size = x.sum(axis=0), np.abs(x).sum(axis=0)
    exact = sums_of(x)
    assert exact is not None
    found = exact(total, size, UNIT)
    for _ in range(3):
        summed = np.zeros(8, np.float32)
        for row in random.permutation(x).astype(np.float32):
            summed = summed + row
        np.testing.assert_array_equal(summed[found], total[found])


@given(SEEDS, st.integers(0, 6), st.integers(0, 6), st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_products_of_coarse_numbers_are_exact(seed, left, right, length):
    random = np.random.default_rng(seed)
    a = random.integers(-99, 100, size=(4, length)) * 2.0**-left
    b = random.integers(-99, 100, size=(length, 5)) * 2.0**-right
    found = sums_of(a, b)(a @ b, np.abs(a) @ np.abs(b), UNIT)
    product = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(product[found], (a @ b)[found])


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_measured_numbers_are_on_no_grid(seed):
    x = np.random.default_rng(seed).standard_normal((6, 30)).astype(np.float32).astype(np.float64)
    assert not on_grid(x)
    assert sums_of(x) is None
    assert sums_of(np.ones((6, 30)), x) is None


def test_one_number_among_zeros_is_its_sum():
    x = np.zeros((3, 8))
    x[0, 2], x[1, 1], x[1, 5] = np.float32(0.3), np.float32(0.3), np.float32(0.7e-9)
    exact = sums_of(x, single=at_most_one(x, -1))
    total = x.sum(axis=-1, keepdims=True)
    assert exact(total, np.abs(total), UNIT).ravel().tolist() == [True, False, True]


def disturbed(op, *inputs, version=17, **attributes):
    node = OneNode(op, inputs, domain="", version=version, **attributes)
    drawn = [node.by_kernel(rounding(seed))[0] for seed in range(3)]
    return node.by_kernel()[0], np.stack(drawn)


ONE_HOT = np.eye(6, dtype=np.float32)[[3, 1, 1, 5]]
LEARNED = np.random.default_rng(3).standard_normal((6, 7)).astype(np.float32)
IMAGE = np.random.default_rng(4).integers(-9, 9, size=(1, 2, 5, 4)).astype(np.float32)
TWICE = np.array([1, 1, 2, 2], np.float32)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("MatMul", (ONE_HOT, LEARNED), {}),
        ("CumSum", (ONE_HOT * LEARNED[0, 0], np.array(1)), {}),
        ("ReduceSum", (ONE_HOT * LEARNED[0, 0], np.array([1])), {}),
        ("Resize", (IMAGE, None, TWICE), {"mode": "linear"}),
        ("Resize", (IMAGE, None, TWICE),
         {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}),
    ],
)  # fmt: skip
def test_nothing_disturbs_an_exact_sum(op, inputs, attributes):
    exact, drawn = disturbed(op, *inputs, **attributes)
    assert np.all(drawn == exact)


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("MatMul", (LEARNED.T, LEARNED)),
        ("CumSum", (LEARNED, np.array(1))),
        ("ReduceSum", (LEARNED, np.array([1]))),
        ("Resize", (IMAGE + np.float32(0.3), None, TWICE)),
        ("Resize", (IMAGE, None, np.array([1, 1, 1.7, 1.3], np.float32))),
    ],
)
def test_other_sums_are_disturbed(op, inputs):
    exact, drawn = disturbed(op, *inputs, **({"mode": "linear"} if op == "Resize" else {}))
    assert np.mean(drawn != exact) > 0.4


@given(SEEDS, st.sampled_from(["Add", "Sub", "Mul"]), st.sampled_from([1.0, 16.0]))
@settings(max_examples=100, deadline=None)
def test_one_operation_on_stored_numbers_stays_between_its_neighbors(seed, op, scale):
    """However wide the noise is: every runtime gives one of the two."""
    random = np.random.default_rng(seed)
    a, b = (random.standard_normal(40).astype(np.float32) for _ in range(2))
    node = OneNode(op, (a, b), domain="", version=17)
    noise = rounding(seed)
    noise.scale = scale
    exact, drawn = node.by_kernel()[0], node.by_kernel(noise)[0]
    nearest = exact.astype(np.float32)
    low, high = (np.nextafter(nearest, np.float32(end)) for end in (-np.inf, np.inf))
    assert np.all((low <= drawn) & (drawn <= high))
    assert np.all((drawn >= nearest) | (exact <= nearest))
    assert np.all((drawn <= nearest) | (exact >= nearest))
    assert np.any(drawn != exact)


def test_a_disturbed_number_is_moved_freely():
    a = np.full(2000, 1.0 + 2.0**-40)
    node = OneNode("Mul", (a, np.full(2000, 3.0)), domain="", version=17)
    drawn = node.by_kernel(rounding(1))[0]
    assert drawn.min() < 3.0 < drawn.max()
