"""One rounding is never called a difference, and more than two always are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isomorph.core.model import Node, Quantization
from isomorph.match import element_bounds
from isomorph.match.element_bounds import Source, compare_elements
from isomorph.match.stored_weights import StoredWeight, WeightReader

FLOAT32 = Source(dtype="float32")
WEIGHTS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(2, 9), st.integers(2, 9)),
    elements=st.floats(-8, 8, width=32),
)


def stored(shape, dtype, grid=None):
    return StoredWeight(
        name="w", dtype=dtype, shape=shape, digest="", value_digest="", readers=(), grid=grid
    )


@given(WEIGHTS, st.sampled_from(["float16", "float32"]))
@settings(max_examples=100, deadline=None)
def test_rounding_to_a_narrower_type_is_no_difference(values, dtype):
    actual = values.astype(dtype).astype(np.float64)
    found = compare_elements(
        values.astype(np.float64), actual, stored(values.shape, dtype), FLOAT32
    )
    assert found.equal
    assert not found.between.any()


@given(WEIGHTS)
@settings(max_examples=100, deadline=None)
def test_what_a_narrow_type_flushes_to_zero_is_no_difference(values):
    small = values.astype(np.float64) * 2.0**-20
    actual = np.where(np.abs(small) < 2.0**-14, 0.0, small.astype(np.float16).astype(np.float64))
    assert compare_elements(small, actual, stored(values.shape, "float16"), FLOAT32).equal


@given(WEIGHTS, st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_grid_of_the_weights_own_range_is_no_difference(values, symmetric, by_channel):
    wide = values.astype(np.float64)
    axis = 0 if by_channel else None
    low, high = (
        np.minimum(f(wide, axis=axis, keepdims=True), 0) if f is np.min
        else np.maximum(f(wide, axis=axis, keepdims=True), 0)
        for f in (np.min, np.max)
    )  # fmt: skip
    if symmetric:
        high = np.maximum(high, -low)
        scale = np.float32(np.maximum(high / 127, 1e-6)).astype(np.float64)
        zero = np.zeros_like(scale)
        integers = np.clip(np.rint(wide / scale), -127, 127)
        dtype = "int8"
    else:
        scale = np.float32(np.maximum((high - low) / 255, 1e-6)).astype(np.float64)
        zero = np.rint(-low / scale)
        integers = np.clip(np.rint(wide / scale) + zero, 0, 255)
        dtype = "uint8"
    grid = Quantization(
        tensor="w", dtype=dtype, scale=tuple(map(float, scale.ravel())),
        zero_point=tuple(map(int, zero.ravel())), axis=1 if by_channel else None,
    )  # fmt: skip
    actual = (integers - zero) * scale
    found = compare_elements(
        wide, actual, stored(values.shape, dtype, grid), FLOAT32, integers.astype(dtype)
    )
    assert found.equal
    assert not found.between.any()


@given(WEIGHTS, st.data())
@settings(max_examples=150, deadline=None)
def test_one_spoiled_element_is_the_one_that_is_found(values, data):
    actual = values.astype(np.float16).astype(np.float64)
    place = tuple(data.draw(st.integers(0, size - 1)) for size in values.shape)
    actual[place] += max(0.05 * abs(actual[place]), 0.01)
    wide = values.astype(np.float64)
    found = compare_elements(wide, actual, stored(values.shape, "float16"), FLOAT32)
    assert np.argwhere(found.beyond).tolist() == [list(place)]
    assert found.sparse == (values.size > 2)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_errors_of_every_size_are_no_spoiled_elements(seed):
    random = np.random.default_rng(seed)
    wide = random.normal(size=(32, 32))
    grid = Quantization(tensor="w", dtype="int8", scale=(0.05,), zero_point=(0,))
    spread = random.uniform(0.25, 3.0)
    integers = np.clip(np.rint(wide / 0.05 + random.normal(size=wide.shape) * spread), -127, 127)
    found = compare_elements(
        wide, integers * 0.05, stored(wide.shape, "int8", grid), FLOAT32, integers.astype(np.int8)
    )
    assert not found.sparse


def test_numbers_that_are_none_are_compared_too():
    wide = np.array([[1.0, np.nan, np.inf], [np.inf, -1.0, 2.0]])
    actual = np.array([[np.nan, np.nan, np.inf], [-np.inf, -1.0, 2.0]])
    found = compare_elements(wide, actual, stored(wide.shape, "float32"), FLOAT32)
    assert np.argwhere(found.beyond).tolist() == [[0, 0], [1, 0]]


@given(st.integers(2, 40), st.booleans(), st.integers(0, 2**16))
@settings(max_examples=80, deadline=None)
def test_one_number_of_a_copy_is_off_by_more_than_a_rounding(units, downward, seed):
    """Of a copy, all other numbers are the very same; a weight that was computed again has none."""
    values = np.random.default_rng(seed).uniform(1.0, 2.0, (6, 7)).astype(np.float32)
    unit = np.float32(2.0**-23)
    one, all_of_them = values.copy(), values.copy()
    off = np.float32(units if not downward else -units) * unit
    one[3, 4] += off
    wide = values.astype(np.float64)
    found = compare_elements(wide, one.astype(np.float64), stored(one.shape, "float32"), FLOAT32)
    apart = abs(float(one[3, 4]) - float(values[3, 4])) / 2.0**-23
    # Two roundings of the number and two of the largest one are allowed: at most four units.
    assert found.count == (apart > (2 * values[3, 4] + 2 * values.max()) / 2)
    assert found.sparse == bool(found.count)
    all_of_them += np.clip(off, -4 * unit, 4 * unit)
    again = all_of_them.astype(np.float64)
    assert compare_elements(wide, again, stored(one.shape, "float32"), FLOAT32).equal


def table_of_angles(rows, *, wide):
    """Sines and cosines of positions times frequencies, in float32 or rounded once at the end."""
    kind = np.float64 if wide else np.float32
    places = np.arange(0, 64, 2).astype(kind)
    frequencies = kind(1.0) / kind(10000.0) ** (places / kind(64.0))
    angles = np.arange(rows).astype(kind)[:, None] * frequencies
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def read_by(op, value):
    node = Node(name="n", op=op, native_op=op, inputs=("x", "w"), outputs=("y",))
    readers = (WeightReader(node=node, slot=1),)
    return replace(stored(value.shape, "float32"), readers=readers)


@pytest.mark.parametrize("rows", [64, 256])
def test_a_table_of_angles_that_was_computed_again_is_no_other(rows):
    one, two = (table_of_angles(rows, wide=wide).astype(np.float64) for wide in (False, True))
    assert compare_elements(one, two, read_by("Mul", one), FLOAT32).equal
    # A kernel is no table of angles.
    assert not compare_elements(one, two, read_by("MatMul", one), FLOAT32).equal


@pytest.mark.parametrize("again", [False, True], ids=["copied", "computed again"])
def test_a_wrong_number_of_a_table_of_angles_is_found(again):
    one, two = (table_of_angles(64, wide=wide).astype(np.float64) for wide in (False, again))
    two[32, 3] += 0.01
    found = compare_elements(one, two, read_by("Mul", one), FLOAT32)
    assert found.beyond[32, 3]
    assert again or found.count == 1


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        ([], 0.0),
        ([-3.0, 2.0], 3.0),
        ([0.5, 0.25], 0.5),
        ([-np.inf, -4.0, 1.0], 4.0),
        ([np.nan, 2.0, -7.0, np.inf], 7.0),
        ([np.nan], 0.0),
    ],
)
def test_the_largest_size_is_that_of_a_finite_number(values, largest):
    assert element_bounds._largest(np.array(values)) == largest
