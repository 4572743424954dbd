"""Quantized products and elementwise operators against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.kernels.registry import load_all
from one_node import OneNode, assert_same_within_rounding, assert_within_quanta, rounding

load_all()
RANDOM = np.random.default_rng(11)
A_SCALE, B_SCALE, Y_SCALE = np.float32(0.031), np.float32(0.0173), np.float32(0.21)


def integers(dtype, *shape):
    # Seven bits where signed: on CPUs without VNNI, ONNX Runtime saturates pairs of wider products.
    low, high = (0, 256) if np.dtype(dtype) == np.uint8 else (-63, 64)
    return RANDOM.integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize("signed", [np.int8, np.uint8])
def test_matmul_integer(signed):
    a, b = integers(np.uint8, 2, 5, 7), integers(signed, 7, 4)
    for zeros in ([], [np.uint8(13)], [np.uint8(13), integers(signed, 4)]):
        node = OneNode("MatMulInteger", [a, b, *zeros], domain="", version=10)
        assert_same_within_rounding(node)


def test_matmul_integer_wraps_like_int32():
    a, b = np.full((1, 40000), 255, np.uint8), np.full((40000, 1), 255, np.uint8)
    node = OneNode("MatMulInteger", [a, b], domain="", version=10)
    assert_same_within_rounding(node)
    assert node.by_kernel()[0][0, 0] < 0


def test_matmul_integer_16():
    a, b = (RANDOM.integers(-3000, 3000, (4, 4)).astype(np.int16) for _ in range(2))
    assert_same_within_rounding(OneNode("MatMulInteger16", [a, b]))


@pytest.mark.parametrize("per_column", [False, True])
def test_qlinear_matmul(per_column):
    b_scale = RANDOM.uniform(0.01, 0.03, 4).astype(np.float32) if per_column else B_SCALE
    b_zero = np.zeros(4, np.int8) if per_column else np.int8(3)
    inputs = [
        integers(np.uint8, 2, 5, 7), A_SCALE, np.uint8(120),
        integers(np.int8, 7, 4), b_scale, b_zero, Y_SCALE, np.uint8(110),
    ]  # fmt: skip
    assert_within_quanta(OneNode("QLinearMatMul", inputs, domain="", version=10))


@pytest.mark.parametrize("attributes", [
    {}, {"pads": [1, 1, 1, 1], "strides": [2, 1]}, {"dilations": [2, 2]}, {"group": 2},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
])  # fmt: skip
def test_convolutions(attributes):
    group = attributes.get("group", 1)
    x, w = integers(np.uint8, 2, 4, 9, 8), integers(np.int8, 6, 4 // group, 3, 3)
    assert_same_within_rounding(
        OneNode("ConvInteger", [x, w, np.uint8(128)], domain="", version=10, **attributes)
    )
    w_scale = RANDOM.uniform(0.01, 0.03, 6).astype(np.float32)
    bias = RANDOM.integers(-5000, 5000, 6).astype(np.int32)
    inputs = [
        x, A_SCALE, np.uint8(128), w, w_scale, np.zeros(6, np.int8),
        np.float32(0.4), np.uint8(128), bias,
    ]  # fmt: skip
    assert_within_quanta(OneNode("QLinearConv", inputs, domain="", version=10, **attributes))


def test_channels_last_convolution():
    inputs = [
        integers(np.uint8, 2, 9, 8, 4), A_SCALE, np.uint8(128), integers(np.int8, 6, 4, 3, 3),
        B_SCALE, np.int8(0), np.float32(0.4), np.uint8(128),
    ]  # fmt: skip
    node = OneNode("QLinearConv", inputs, channels_last=1, pads=[1, 1, 1, 1])
    assert_within_quanta(node)


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
def test_qgemm(trans, quantized):
    a, b = integers(np.uint8, 5, 7), integers(np.int8, 7, 4)
    inputs = [
        a.T if trans else a, A_SCALE, np.uint8(120), b.T if trans else b,
        RANDOM.uniform(0.01, 0.03, 4).astype(np.float32), np.zeros(4, np.int8),
        RANDOM.integers(-900, 900, 4).astype(np.int32),
    ]  # fmt: skip
    attributes = {"alpha": 1.5, "transA": trans, "transB": trans}
    if quantized:
        assert_within_quanta(OneNode("QGemm", [*inputs, Y_SCALE, np.uint8(110)], **attributes))
    else:
        assert_same_within_rounding(OneNode("QGemm", inputs, **attributes))


@pytest.mark.parametrize("bias", [None, RANDOM.normal(size=4).astype(np.float32)])
@pytest.mark.parametrize("per_column", [False, True])
def test_matmul_integer_to_float(bias, per_column):
    b_scale = RANDOM.uniform(0.01, 0.03, 4).astype(np.float32) if per_column else B_SCALE
    b_zero = integers(np.int8, 4) if per_column else np.int8(-7)
    inputs = [
        integers(np.uint8, 2, 5, 7), integers(np.int8, 7, 4), A_SCALE, b_scale,
        np.uint8(100), b_zero, bias,
    ]  # fmt: skip
    assert_same_within_rounding(OneNode("MatMulIntegerToFloat", inputs))


@pytest.mark.parametrize(
    ("last", "step"), [(127, 254 / 255), (64, 1.0), (63, 1.0), (50, 100 / 255)]
)
def test_disturbed_integers_flow_through_products(last, step):
    """Float activations and undisturbed ones agree within the sum of their ideal steps.

    The step of stored weights is that of 8 bits, or of 7 where they end just there.
    """
    x = RANDOM.normal(size=(6, 32)).astype(np.float32)
    b = RANDOM.integers(-last, last, (32, 8), endpoint=True).astype(np.int8)
    b[:2, 0] = -last, last
    node = OneNode("MatMulInteger", [x / 0.02 + 100, b, np.uint8(100)], domain="", version=10)
    noisy = node.by_kernel(rounding(1, quantizers=True, unit=0.0))[0] * 0.02
    exact = x.astype(np.float64) @ b
    assert noisy.dtype == np.float64
    error = noisy - exact
    expected = np.sqrt((x**2).sum(1, keepdims=True)) * step / np.sqrt(12)
    assert np.sqrt(np.mean((error / expected) ** 2)) == pytest.approx(1, rel=0.3)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_qlinear_binary(op, dtype):
    inputs = [
        integers(dtype, 3, 4, 5), A_SCALE, dtype(30), integers(dtype, 5), B_SCALE, dtype(99),
        np.float32(0.06), dtype(100),
    ]  # fmt: skip
    assert_within_quanta(OneNode(op, inputs))


@pytest.mark.parametrize(("op", "y", "attributes"), [
    ("QLinearSigmoid", (1 / 256, 0), {}),
    ("QLinearLeakyRelu", (0.04, 60), {"alpha": 0.2}),
    ("QLinearSoftmax", (1 / 256, 0), {"opset": 13, "axis": 1}),
    ("QLinearSoftmax", (1 / 256, 0), {"opset": 11, "axis": 2}),
    ("QLinearGlobalAveragePool", (0.01, 128), {"channels_last": 0}),
    ("QLinearGlobalAveragePool", (0.01, 128), {"channels_last": 1}),
    ("QLinearAveragePool", (0.02, 128), {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1]}),
    ("QLinearAveragePool", (0.02, 128), {
        "kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1,
        "count_include_pad": 1}),
    ("QLinearAveragePool", (0.02, 128), {"kernel_shape": [2, 2], "channels_last": 1}),
])  # fmt: skip
def test_qlinear_unary(op, y, attributes):
    inputs = [integers(np.uint8, 2, 3, 5, 6), A_SCALE, np.uint8(128), np.float32(y[0]),
              np.uint8(y[1])]  # fmt: skip
    assert_within_quanta(OneNode(op, inputs, **attributes))


def test_qlinear_concat_and_where():
    x, y = integers(np.uint8, 3, 4), integers(np.uint8, 3, 4)
    grids = [np.float32(0.03), np.uint8(100)]
    inputs = [*grids, x, A_SCALE, np.uint8(7), y, B_SCALE, np.uint8(200)]
    assert_within_quanta(OneNode("QLinearConcat", inputs, axis=1))
    condition = RANDOM.integers(0, 2, (3, 4)).astype(bool)
    inputs = [condition, x, A_SCALE, np.uint8(7), y, B_SCALE, np.uint8(200), *grids]
    assert_within_quanta(OneNode("QLinearWhere", inputs))


def test_qlinear_reduce_mean_is_the_mean_of_the_reals():
    """ONNX Runtime declares this operator and has no kernel for it on the CPU."""
    x = integers(np.uint8, 2, 3, 5, 6)
    inputs = [x, A_SCALE, np.uint8(128), np.float32(0.01), np.uint8(128)]
    node = OneNode("QLinearReduceMean", inputs, axes=[1, 3], keepdims=0)
    mean = (x - 128.0).mean(axis=(1, 3)) * np.float64(A_SCALE)
    expected = np.clip(np.rint(mean / np.float64(np.float32(0.01))) + 128, 0, 255)
    np.testing.assert_array_equal(node.by_kernel()[0], expected)


def test_mul_integer_and_reduce_sum_integer():
    """Declared by ONNX Runtime; held to their definition where the CPU has no kernel."""
    a, b = integers(np.uint8, 3, 4), integers(np.uint8, 4)
    node = OneNode("MulInteger", [a, np.uint8(3), b, np.uint8(200)])
    expected = (a.astype(int) - 3) * (b.astype(int) - 200)
    np.testing.assert_array_equal(node.by_kernel()[0], expected)
    assert node.by_kernel()[0].dtype == np.int32
    node = OneNode("ReduceSumInteger", [a], axes=[1], keepdims=1)
    np.testing.assert_array_equal(node.by_kernel()[0], a.sum(axis=1, keepdims=True))
    assert node.by_kernel()[0].dtype == np.uint32


def test_softmax_noise_covers_the_whole_part_of_one_over_scale():
    """With a scale of 1/255.9 ONNX Runtime multiplies by 255: every large share is one less."""
    x = np.full((40, 2), 10, np.uint8)
    x[:, 1] = RANDOM.integers(11, 60, 40)
    inputs = [x, np.float32(0.2), np.uint8(0), np.float32(1 / 255.9), np.uint8(0)]
    node = OneNode("QLinearSoftmax", inputs, opset=13)
    ran, exact = (each[0].astype(int) for each in (node.in_onnxruntime(), node.by_kernel()))
    assert np.any(ran != exact)
    draws = np.stack([node.by_kernel(rounding(s))[0].astype(int) for s in range(20)])
    assert np.all((ran >= draws.min(axis=0)) & (ran <= draws.max(axis=0)))
