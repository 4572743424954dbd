"""Quantizers against ONNX Runtime, and what disturbed quantizers do."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from isomorph.kernels import quantized_linear
from isomorph.kernels.quantized import requantize
from isomorph.oracle.call import Call
from one_node import OneNode, assert_same_within_rounding, assert_within_quanta, rounding

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(0, 3, (4, 6, 5)).astype(np.float32)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, -2.5, 3e4, -3e4, 0.0, -0.0], np.float32
)
CHANNELS = np.array([0.02, 0.03, 0.5, 0.01, 0.07, 0.11], np.float32)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int4", "uint4"])
@pytest.mark.parametrize("x", [X, SPECIAL], ids=["random", "special"])
def test_quantize_per_tensor(dtype, x):
    kind = getattr(ml_dtypes, dtype, dtype)
    zero = np.array(3).astype(kind)
    node = OneNode("QuantizeLinear", [x, np.float32(0.5), zero], domain="", version=21)
    ran, ours = node.in_onnxruntime(read_as=TensorProto.INT32)[0], node.by_kernel()[0]
    assert ours.dtype == np.dtype(kind)
    np.testing.assert_array_equal(ran, ours.astype(int))


@pytest.mark.parametrize("version", [10, 13, 19, 21, 23])
def test_quantize_without_zero_point_is_uint8(version):
    node = OneNode("QuantizeLinear", [X, np.float32(0.25)], domain="", version=version)
    assert_within_quanta(node)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16])
def test_quantize_of_onnx_runtime(dtype):
    inputs = [X, CHANNELS, np.full(6, 9, dtype)]
    assert_within_quanta(OneNode("QuantizeLinear", inputs, axis=1))


def test_quantize_per_axis():
    zero = np.array([0, 5, -5, 7, 100, -100], np.int8)
    node = OneNode("QuantizeLinear", [X, CHANNELS, zero], domain="", version=19, axis=-2)
    assert_within_quanta(node)


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_quantize_and_dequantize_in_blocks(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    scale = RANDOM.uniform(0.1, 1.0, (4, 3, 5)).astype(np.float32)
    zero = np.ones((4, 3, 5)).astype(kind)
    stored = RANDOM.integers(-8, 8, (4, 6, 5)).astype(kind)
    shape = {"axis": 1, "block_size": 2}
    forth = OneNode("QuantizeLinear", [X, scale, zero], domain="", version=21, **shape)
    back = OneNode("DequantizeLinear", [stored, scale, zero], domain="", version=21, **shape)
    np.testing.assert_array_equal(
        forth.in_onnxruntime(read_as=TensorProto.INT32)[0], forth.by_kernel()[0].astype(int)
    )
    assert_same_within_rounding(back)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_quantize_to_float8(name, saturate):
    kind = getattr(ml_dtypes, name)
    inputs = [np.concatenate([X.ravel(), SPECIAL]), np.float32(0.5), np.zeros((), kind)]
    node = OneNode("QuantizeLinear", inputs, domain="", version=19, saturate=saturate)
    ran, ours = node.in_onnxruntime(read_as=TensorProto.FLOAT)[0], node.by_kernel()[0]
    assert ours.dtype == np.dtype(kind)
    np.testing.assert_array_equal(ran, ours.astype(np.float32))


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32])
def test_dequantize(domain, dtype):
    version = 21 if domain == "" else 1
    low = 0 if dtype is np.uint8 else -100
    stored = RANDOM.integers(low, 100, (4, 6, 5)).astype(dtype)
    zero = None if dtype is np.int32 else np.full(6, 3, dtype)
    inputs = [stored, CHANNELS, zero]
    assert_same_within_rounding(
        OneNode("DequantizeLinear", inputs, domain=domain, version=version, axis=1)
    )


def test_dequantize_keeps_the_declared_type_when_not_lifted():
    stored = RANDOM.integers(-100, 100, (3, 4)).astype(np.int8)
    for dtype in (np.float32, np.float16):
        node = OneNode("DequantizeLinear", [stored, dtype(0.1)], domain="", version=19)
        ran, ours = node.in_onnxruntime()[0], node.by_kernel(lift=False)[0]
        assert ours.dtype == ran.dtype == dtype
        np.testing.assert_allclose(ours, ran, rtol=np.finfo(dtype).eps)


def test_int2_is_a_grid_of_four():
    zero = np.zeros((), ml_dtypes.int2)
    x = np.array([-9.0, -2.0, -0.5, 0.5, 0.6, 9.0])
    call = Call(op="QuantizeLinear", version=25)
    grid = requantize(x, np.array(1.0), zero, "int2", None, call)
    np.testing.assert_array_equal(grid.astype(int), [-2, -2, 0, 0, 1, 1])


@pytest.mark.parametrize("x", [X, np.abs(X), -np.abs(X), np.zeros_like(X)])
def test_dynamic_quantize(x):
    node = OneNode("DynamicQuantizeLinear", [x], domain="", version=11, outputs=3)
    ran, ours = node.in_onnxruntime(), node.by_kernel()
    assert np.abs(ran[0].astype(int) - ours[0].astype(int)).max() <= 1
    np.testing.assert_allclose(ran[1], ours[1], rtol=2e-7)
    assert ran[2] == ours[2]
    assert ours[2].dtype == np.uint8


def test_a_disturbed_quantizer_neither_rounds_nor_clips():
    """Its error is one ideal step wide, however bad the model's own scale is."""
    for scale in (0.001, 0.1, 10.0):  # clips nearly all, fits, rounds nearly all away
        node = OneNode("QuantizeLinear", [X, np.float32(scale), np.int8(4)], domain="", version=19)
        units = node.by_kernel(rounding(3, quantizers=True, unit=0.0))[0]
        assert units.dtype == np.float64
        error = (units - 4) * np.float64(np.float32(scale)) - X
        step = (max(X.max(), 0) - min(X.min(), 0)) / 255
        assert np.abs(error).max() <= step / 2 * (1 + 1e-9)
        assert np.std(error) == pytest.approx(step / np.sqrt(12), rel=0.15)


def test_disturbed_weights_get_the_step_of_their_own_channel():
    stored = RANDOM.integers(-127, 128, (64, 6)).astype(np.int8)
    node = OneNode("DequantizeLinear", [stored, CHANNELS], domain="", version=19, axis=1)
    exact = node.by_kernel()[0]
    noise = rounding(1, quantizers=True, unit=0.0)
    error = node.by_kernel(noise, constant=True)[0] - exact
    steps = (exact.max(0).clip(0) - exact.min(0).clip(max=0)) / 255
    np.testing.assert_allclose(np.std(error, axis=0), steps / np.sqrt(12), rtol=0.25)
    call = Call(op="DequantizeLinear", version=19, attributes={"axis": 1}, noise=noise,
                input_dtypes=("int8",))  # fmt: skip
    had_its_step = quantized_linear.dequantize_linear(
        call, stored.astype(np.float64), CHANNELS.astype(np.float64)
    )
    np.testing.assert_array_equal(had_its_step, exact)


@pytest.mark.parametrize("axis", [None, 1])
def test_weights_of_seven_bits_get_the_step_they_were_rounded_to(axis):
    real = RANDOM.normal(0, 1, (64, 6))
    scale = np.abs(real).max(0 if axis else None, keepdims=True) / 64
    stored = np.rint(real / scale).astype(np.int8)
    scales = scale.reshape(-1 if axis else ()).astype(np.float32)
    node = OneNode("DequantizeLinear", [stored, scales], domain="", version=19, axis=axis or 0)
    noise = rounding(1, quantizers=True, unit=0.0)
    error = node.by_kernel(noise, constant=True)[0] - node.by_kernel()[0]
    lost = stored * scale - real
    np.testing.assert_allclose(np.std(error, axis=0), np.std(lost, axis=0), rtol=0.35)
    stored[3, 3] = 70  # beyond 7 bits: the grid could have been finer
    less = node.by_kernel(noise, constant=True)[0] - node.by_kernel()[0]
    assert np.std(less) < 0.7 * np.std(error)


def test_ideal_steps_in_blocks_follow_each_block():
    x = np.concatenate([np.full((1, 32), 1.0), np.full((1, 32), 100.0)], axis=1)
    scale, noise = np.ones((1, 2)), rounding(2, quantizers=True, unit=0.0)
    call = Call(op="QuantizeLinear", version=21, noise=noise)
    error = requantize(x, scale, None, "int8", 1, call, block=32) - x
    assert np.abs(error[0, :32]).max() <= 1 / 510
    assert 10 / 510 < np.abs(error[0, 32:]).max() <= 100 / 510


def test_a_disturbed_float8_quantizer_errs_in_proportion():
    zero = np.zeros((), ml_dtypes.float8_e4m3fn)
    node = OneNode("QuantizeLinear", [X, np.float32(1.0), zero], domain="", version=19)
    error = node.by_kernel(rounding(2, quantizers=True, unit=0.0))[0] - X
    assert np.abs(error / X).max() <= 2.0**-4 * (1 + 1e-6)
    assert np.abs(error).max() > 0


@pytest.mark.parametrize(
    ("zero", "side"), [(np.uint8(0), 1), (np.int8(-128), 1), (np.int8(127), -1)]
)
def test_a_disturbed_quantizer_keeps_the_relu_that_its_grid_stands_for(zero, side):
    node = OneNode("QuantizeLinear", [X, np.float32(0.1), zero], domain="", version=19)
    noise = rounding(3, quantizers=True, unit=0.0)
    real = (node.by_kernel(noise)[0] - float(zero)) * np.float64(np.float32(0.1))
    kept = X * side > 0
    step = np.abs(X[kept]).max() / 255
    assert np.abs(real[kept] - X[kept]).max() <= step / 2 * (1 + 1e-6)
    assert np.all(real[~kept] == 0)


def _disturbed(x, scale, draws=40):
    """The deviations under disturbed quantizers, of a symmetric grid of int8."""
    seen = []
    for seed in range(draws):
        noise = rounding(seed, quantizers=True, unit=0.0)
        call = Call(op="QuantizeLinear", version=21, noise=noise)
        seen.append(requantize(x, np.float64(scale), None, "int8", None, call) * scale)
    return np.std(seen, axis=0)


def test_a_stray_value_beyond_the_range_may_lose_what_lies_beyond():
    x = np.linspace(-1.0, 1.0, 501)
    x[250] = 1.5
    deviation = _disturbed(x, 1.0 / 127.0)
    assert 0.25 * 0.5 < deviation[250] < 0.5, "within a small factor of what it loses"
    assert np.delete(deviation, 250).max() < 0.01, "the others lose a step of the grid"


def test_a_range_too_narrow_for_many_is_not_excused():
    x = np.linspace(-1.0, 1.0, 501)
    deviation = _disturbed(x, 0.5 / 127.0)
    beyond = np.abs(x) > 0.5
    assert np.mean(deviation[beyond] > 0.05) < 0.05


def test_rows_of_a_stored_table_have_the_step_of_what_is_stored():
    rows = RANDOM.integers(-127, 128, (6, 40)).astype(np.int8)
    node = OneNode("DequantizeLinear", [rows, np.float32(0.1), np.int8(0)], domain="", version=19)
    seen = [
        node.by_kernel(rounding(seed, quantizers=True, unit=0.0), constant=False)[0]
        for seed in range(20)
    ]
    step = (int(rows.max()) - int(rows.min())) * 0.1 / 255
    assert np.std(seen, axis=0).mean() == pytest.approx(step / np.sqrt(12), rel=0.15)


def test_the_range_of_a_bounded_function_is_its_own_loss_and_a_wasted_one_is_not():
    x = np.linspace(-0.2, 0.2, 401)
    bounded, wasted = _disturbed(x, 1.0 / 127.0), _disturbed(x, 2.0 / 127.0)
    whole = np.sqrt(1.0 / 12.0)
    assert np.mean(bounded) == pytest.approx(whole / 127.0, rel=0.1), "that of -1 … 1, as of Tanh"
    assert np.mean(wasted) == pytest.approx(whole * 0.4 / 255.0, rel=0.1), "that of what was seen"


def test_rows_that_were_looked_up_have_the_step_of_their_table():
    """The rows are small; the quantizer saw the whole table."""
    table = np.array([[0, 255], [120, 136]], np.uint8)
    scale, zero = np.float32(0.1), np.uint8(128)
    rows = np.repeat(table[1:], 500, axis=0)
    noise = rounding(quantizers=True)
    plain = Call(op="DequantizeLinear", noise=noise, input_dtypes=("uint8", "float32", "uint8"))
    with_table = Call(
        op="DequantizeLinear", noise=noise, input_dtypes=("uint8", "float32", "uint8"), table=table
    )
    exact = (rows.astype(float) - 128) * 0.1
    errors = [
        np.abs(quantized_linear.dequantize_linear(call, rows, scale, zero) - exact).max()
        for call in (plain, with_table)
    ]
    assert errors[0] < 0.005
    assert 0.04 < errors[1] <= 0.0501
