"""Kernels against the plainest form of their definitions, over random shapes and attributes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isomorph.kernels import (
    casting,
    convolution,
    data_movement,
    elementwise,
    pooling,
    recurrent,
    softmax,
)
from isomorph.kernels.erf import erf
from isomorph.kernels.windows import windows
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import holds
from isomorph.oracle.noise import NO_NOISE, Rounding

quick = settings(max_examples=40, deadline=None)
integers = st.integers(-(2**31), 2**31 - 1)


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("base", [-math.inf, -0.0, 0.0, 4.0, math.inf])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_power_of_a_half_is_no_square_root(base, shape):
    call = Call(op="Pow", attributes={}, version=15, noise=NO_NOISE)
    found = elementwise.power(call, np.full(shape, base), np.array(0.5))
    assert np.shape(found) == shape
    assert all(math.copysign(1, each) == 1 for each in np.ravel(found))
    assert set(np.ravel(found).tolist()) == {math.pow(base, 0.5)}


@given(st.floats(-7, 7))
def test_erf_to_the_last_bits(x):
    assert erf(np.array(x)) == pytest.approx(math.erf(x), rel=2e-15, abs=5e-324)


def test_erf_at_its_ends():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 40.0])
    assert np.array_equal(erf(x), [1.0, -1.0, np.nan, 0.0, -0.0, 1.0], equal_nan=True)
    assert np.signbit(erf(x)[4])


@given(integers, integers)
def test_integer_division_truncates_toward_zero(a, b):
    assume(b != 0)
    with np.errstate(all="ignore"):
        y = elementwise.truncated_quotient(np.array(a, np.int32), np.array(b, np.int32))
    exact = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert int(y) == (exact + 2**31) % 2**32 - 2**31


@given(integers, integers)
def test_remainders_take_the_sign_they_are_asked_for(a, b):
    assume(b != 0)
    x, y = np.array([a], np.int64), np.array([b], np.int64)
    assert elementwise.modulo(Call(op="Mod", attributes={"fmod": 0}), x, y)[0] == a % b
    assert elementwise.modulo(Call(op="Mod", attributes={"fmod": 1}), x, y)[0] == math.fmod(a, b)


@st.composite
def windowed(draw):
    rank = draw(st.integers(1, 2))
    pick = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(rank))  # noqa: E731
    kernel, dilations = pick(1, 3), pick(1, 2)
    spatial = tuple(
        (k - 1) * d + 1 + draw(st.integers(0, 5)) for k, d in zip(kernel, dilations, strict=True)
    )
    attributes = {
        "kernel_shape": kernel,
        "dilations": dilations,
        "strides": pick(1, 3),
        "pads": pick(0, 1) + pick(0, 1),
    }
    return spatial, attributes


def seen_by(x, attributes, place):
    """For each window, the input positions it covers; None where it covers padding."""
    kernel, dilations = attributes["kernel_shape"], attributes["dilations"]
    for output in np.ndindex(*place.output):
        corner = [o * s - b for o, s, b in zip(output, place.strides, place.begin, strict=True)]
        offsets = itertools.product(*(range(k) for k in kernel))
        covered = []
        for offset in offsets:
            at = tuple(c + o * d for c, o, d in zip(corner, offset, dilations, strict=True))
            inside = all(0 <= a < size for a, size in zip(at, x.shape[2:], strict=True))
            covered.append((offset, at if inside else None))
        yield output, covered


@quick
@given(windowed(), st.sampled_from([(1, 1), (2, 1), (2, 2)]), st.booleans())
def test_convolution_is_the_sum_it_is_defined_as(shape, grouping, biased):
    spatial, attributes = shape
    groups, per_group = grouping
    x = random(2, groups * per_group, *spatial)
    w = random(groups * 2, per_group, *attributes["kernel_shape"], seed=1)
    b = random(groups * 2, seed=2) if biased else None
    place = windows(attributes, spatial, attributes["kernel_shape"])
    y = convolution.conv(Call(op="Conv", attributes={**attributes, "group": groups}), x, w, b)
    expected = np.zeros((2, groups * 2, *place.output))
    for output, covered in seen_by(x, attributes, place):
        for offset, at in covered:
            if at is not None:
                for m in range(groups * 2):
                    first = m // 2 * per_group
                    part = x[(slice(None), slice(first, first + per_group), *at)]
                    expected[(slice(None), m, *output)] += part @ w[(m, slice(None), *offset)]
    if b is not None:
        expected += b.reshape(-1, *(1,) * len(spatial))
    assert np.allclose(y, expected, rtol=1e-12, atol=1e-12)


@quick
@given(windowed(), st.sampled_from([(1, 1), (2, 2)]))
def test_transposed_convolution_is_the_adjoint(shape, grouping):
    spatial, attributes = shape
    groups, per_group = grouping
    kernel = attributes["kernel_shape"]
    w = random(groups * 2, per_group, *kernel, seed=1)
    x = random(1, groups * per_group, *spatial)
    call = {**attributes, "group": groups}
    y = convolution.conv(Call(op="Conv", attributes=call), x, w)
    g = random(*y.shape, seed=3)
    # Behind the last stride lies what the forward windows may not reach.
    place = windows(attributes, spatial, kernel)
    extra = tuple(
        size + b + e - r - (o - 1) * s
        for size, b, e, r, o, s in zip(
            spatial, place.begin, place.end, place.reach, place.output, place.strides, strict=True
        )
    )
    call["output_padding"] = extra
    back = convolution.conv_transpose(Call(op="ConvTranspose", attributes=call), g, w)
    assert back.shape == x.shape
    assert np.sum(y * g) == pytest.approx(np.sum(x * back), rel=1e-9, abs=1e-9)


@quick
@given(windowed(), st.booleans())
def test_pools_look_at_exactly_their_windows(shape, counted):
    spatial, attributes = shape
    x = random(1, 2, *spatial)
    place = windows(attributes, spatial, attributes["kernel_shape"])
    call = {**attributes, "count_include_pad": int(counted)}
    # A window that lies in the padding alone has no mean.
    assume(max(attributes["pads"]) < min(attributes["kernel_shape"]))
    mean = pooling.average_pool(Call(op="AveragePool", version=19, attributes=call), x)
    top = pooling.max_pool(Call(op="MaxPool", version=12, attributes=attributes), x)
    for output, covered in seen_by(x, attributes, place):
        inside = [x[(0, 1, *at)] for _, at in covered if at is not None]
        if not inside:
            continue
        divisor = len(covered) if counted else len(inside)
        assert mean[(0, 1, *output)] == pytest.approx(sum(inside) / divisor)
        assert top[(0, 1, *output)] == max(inside)


def test_positions_of_maxima_point_at_them():
    x = random(2, 3, 6, 7)
    call = Call(op="MaxPool", outputs=2, attributes={"kernel_shape": (3, 2), "pads": (1, 1, 1, 0)})
    top, where = pooling.max_pool(call, x)
    assert np.array_equal(x.reshape(-1)[where], top)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8))
def test_softmax_is_a_distribution_that_ignores_a_shift(values):
    x = np.array(values)
    y = softmax.softmax(x, 0, NO_NOISE)
    assert y.sum() == pytest.approx(1.0)
    assert np.allclose(y, softmax.softmax(x + 7.0, 0, NO_NOISE), rtol=1e-9)
    logs = softmax.log_softmax(x, 0, NO_NOISE)
    assert np.allclose(np.exp(logs), y, rtol=1e-9)


@given(st.integers(-12, 12), st.integers(-12, 12), st.integers(-3, 3))
def test_slices_follow_the_clamped_bounds_of_the_operator(start, end, step):
    assume(step != 0)
    x = np.arange(7)
    call = Call(op="Slice", version=13)
    y = data_movement.cut(call, x, *(np.array([v]) for v in (start, end, 0, step)))
    first = start + 7 if start < 0 else start
    last = end + 7 if end < 0 else end
    first = min(max(first, 0), 7) if step > 0 else min(max(first, 0), 6)
    last = min(max(last, 0), 7) if step > 0 else min(max(last, -1), 6)
    assert y.tolist() == [x[i] for i in range(first, last, step)]


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_wider_types_hold_narrower_ones(source):
    assert holds("float32", source)
    assert not holds(source, "float32")
    assert not holds("float16", "bfloat16")


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (np.float64(300.7), "uint8", 44),
        (np.float64(-1.9), "int32", -1),
        (np.float64(-1.0), "uint8", 255),
        (np.int64(2**24 + 1), "float32", 2.0**24),
        (np.float64(1e6), "float8_e4m3fn", 448.0),
        (np.int64(-9), "int4", 7),
        (np.float64(0.1), "bool", True),
    ],
)
def test_casts(value, target, expected):
    y = casting.convert(np.array([value]), value.dtype.name, target)
    assert y.astype(np.float64)[0] == expected


def test_a_recurrent_layer_read_backwards_is_one_read_forwards():
    x, lengths = random(5, 3, 4), np.array([5, 2, 4])
    weights = recurrent.Weights(w=random(6, 4, seed=1), r=random(6, 6, seed=2) / 3)
    start = np.zeros((3, 6))
    states, last = recurrent.rnn(x, weights, start, NO_NOISE, lengths=lengths)
    assert not states[2:, 1].any()
    assert np.array_equal(last[1], states[1, 1])
    turned = recurrent.reversed_in_time(recurrent.reversed_in_time(x, lengths), lengths)
    assert np.array_equal(turned, x)


def test_noise_never_invents_a_nan_or_moves_an_infinity():
    noise = Rounding(0)
    noise.enter("n", 2.0**-24)
    y = np.array([1.0, np.inf, np.nan, -np.inf])
    moved = noise.rounded(y, np.array([np.inf, np.inf, 1.0, np.nan]))
    assert np.array_equal(moved, y, equal_nan=True)
    summed = noise.reduced(np.ones(2), lambda: np.array([np.nan, 1.0]), 3)
    assert np.isfinite(summed).all()


def test_noise_belongs_to_its_site():
    noise = Rounding(5)
    noise.enter((1, 2), 2.0**-24)
    first = noise.rounded(np.ones(9))
    noise.enter((7,), 2.0**-24)
    noise.rounded(np.ones(3))
    noise.enter((1, 2), 2.0**-24)
    assert np.array_equal(noise.rounded(np.ones(9)), first)
    noise.enter((1, 2), 0.0)
    assert np.array_equal(noise.rounded(np.ones(9)), np.ones(9))
