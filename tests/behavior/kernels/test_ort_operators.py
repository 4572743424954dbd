"""ONNX Runtime's float operators, each against ONNX Runtime itself."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.kernels.registry import load_all
from one_node import OneNode, assert_same_within_rounding

load_all()
RANDOM = np.random.default_rng(3)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("op", "inputs", "attributes"), [
    ("Gelu", [floats(4, 9) * 3], {}),
    ("BiasGelu", [floats(2, 4, 9), floats(9)], {}),
    ("FastGelu", [floats(2, 4, 9), floats(9)], {}),
    ("FastGelu", [floats(2, 4, 9)], {}),
    ("QuickGelu", [floats(4, 9) * 3], {}),
    ("QuickGelu", [floats(4, 9) * 3], {"alpha": 0.7}),
    ("FusedMatMul", [floats(2, 3, 4), floats(2, 4, 5)], {"alpha": 0.3}),
    ("FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4)], {"transA": 1, "transB": 1}),
    ("FusedMatMul", [floats(3, 2, 4), floats(2, 4, 5)], {"transBatchA": 1}),
    ("FusedMatMul", [floats(2, 3, 4), floats(4, 2, 5)], {"transBatchB": 1}),
    ("FusedMatMul", [floats(4, 2, 3), floats(2, 4, 5)], {"transBatchA": 1, "transA": 1}),
    ("TransposeMatMul", [floats(2, 4, 3), floats(4, 5)], {"transA": 1, "alpha": 2.0}),
    ("Inverse", [floats(3, 4, 4) + 4 * np.eye(4, dtype=np.float32)], {}),
    ("CDist", [floats(5, 8), floats(3, 8)], {"metric": "sqeuclidean"}),
    ("CDist", [floats(5, 8), floats(3, 8)], {"metric": "euclidean"}),
    ("ExpandDims", [floats(2, 3), np.int32(-1)], {}),
    ("Trilu", [floats(2, 4, 5), np.int64(1)], {"upper": 0}),
    ("Trilu", [floats(2, 4, 5)], {}),
    ("Pad", [floats(2, 3), np.array([1, 0, 0, 2]), np.float32(7.5)], {}),
    ("Pad", [floats(4, 5), np.array([1, 2, 0, 2])], {"mode": "reflect"}),
    ("GatherND", [floats(2, 3, 4), np.array([[0, 1], [1, 2]])], {}),
    ("Range", [np.float32(1), np.float32(6.5), np.float32(1.5)], {}),
    ("Range", [np.int64(9), np.int64(1), np.int64(-3)], {}),
    ("Range", [np.int64(2), np.int64(6)], {}),
    ("MaxpoolWithMask", [floats(1, 3, 6, 6), np.tile(np.arange(36).reshape(6, 6) % 3, (1, 3, 1, 1))
      .astype(np.int32)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("ConvTransposeWithDynamicPads",
     [floats(1, 4, 5, 5), floats(4, 3, 3, 3), np.array([1, 1, 0, 1]), floats(3)],
     {"strides": [2, 2], "output_padding": [1, 0]}),
    ("MurmurHash3", [RANDOM.integers(-9, 9, (2, 5)).astype(np.int32)], {}),
    ("MurmurHash3", [RANDOM.integers(-9, 9, 5).astype(np.int64)], {"positive": 0, "seed": 7}),
    ("MurmurHash3", [floats(5)], {"positive": 0}),
    ("MurmurHash3", [np.array(["a", "of words", "three"], object)], {"seed": 3}),
    ("UnfoldTensor", [floats(2, 9)], {"size": 4, "step": 2}),
])  # fmt: skip
def test_operator(op, inputs, attributes):
    assert_same_within_rounding(OneNode(op, inputs, **attributes))


def test_unique():
    x = np.array([3.0, 1.0, 3.0, 2.0, 1.0, 3.0], np.float32)
    assert_same_within_rounding(OneNode("Unique", [x], outputs=3))


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize(("activation", "parameters"), [
    (None, None), ("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.2]),
    ("Clip", [-0.5, 2.0]), ("HardSigmoid", [0.3, 0.4]),
])  # fmt: skip
def test_fused_conv(activation, parameters, residual):
    x, w = floats(2, 4, 7, 6), floats(8, 2, 3, 3)
    inputs = [x, w, floats(8), floats(2, 8, 4, 6)] if residual else [x, w, floats(8)]
    attributes = {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}
    if activation:
        attributes["activation"] = activation
    if parameters:
        attributes["activation_params"] = parameters
    assert_same_within_rounding(OneNode("FusedConv", inputs, **attributes))


@pytest.mark.parametrize(("activation", "parameters"), [
    ("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Tanh", {}),
    ("Elu", {"activation_alpha": 0.5}),
    ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
    ("Softplus", {}), ("Softsign", {}), ("ThresholdedRelu", {"activation_alpha": 0.6}),
])  # fmt: skip
def test_fused_gemm(activation, parameters):
    inputs = [floats(5, 4), floats(6, 5), floats(6)]
    node = OneNode("FusedGemm", inputs, activation=activation, transA=1, transB=1, alpha=0.5,
                   beta=2.0, **parameters)  # fmt: skip
    assert_same_within_rounding(node)


def test_an_unknown_activation_is_refused_by_name():
    node = OneNode("FusedConv", [floats(1, 1, 3, 3), floats(1, 1, 1, 1)], activation="Wobble")
    with pytest.raises(UnreadableModelError, match="Wobble"):
        node.by_kernel()


@pytest.mark.parametrize("bias", [None, floats(8)])
@pytest.mark.parametrize("skip", [floats(2, 3, 8), floats(1, 3, 8), floats(3, 8)])
def test_skip_layer_normalization(bias, skip):
    inputs = [floats(2, 3, 8), skip, floats(8), floats(8), bias]
    node = OneNode("SkipLayerNormalization", inputs, outputs=4, epsilon=1e-5)
    assert_same_within_rounding(node, only=(0, 3))
    _, mean, inverse, total = node.by_kernel()
    np.testing.assert_allclose(mean, total.mean(-1, keepdims=True))
    np.testing.assert_allclose(inverse, 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-5), rtol=1e-6)


def test_simplified_layer_normalization():
    inputs = [floats(2, 3, 8), floats(8)]
    stated = {"axis": -1, "epsilon": 1e-5, "stash_type": 1}
    node = OneNode("SimplifiedLayerNormalization", inputs, domain="", version=1, **stated)
    assert_same_within_rounding(node)
    inputs = [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8)]
    node = OneNode("SkipSimplifiedLayerNormalization", inputs, outputs=4, epsilon=1e-5)
    assert_same_within_rounding(node, only=(0, 3))


@pytest.mark.parametrize("segments", [True, False])
@pytest.mark.parametrize("positions", [None, np.array([[3, 2, 1, 0, 4]] * 2, np.int32)])
def test_embed_layer_normalization(segments, positions):
    words = RANDOM.integers(0, 11, (2, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    ids = RANDOM.integers(0, 2, (2, 5)).astype(np.int32) if segments else None
    table = floats(2, 8) if segments else None
    inputs = [words, ids, floats(11, 8), floats(6, 8), table, floats(8), floats(8), mask, positions]
    assert_same_within_rounding(OneNode("EmbedLayerNormalization", inputs, outputs=3))


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_group_norm_by_its_definition(activation, last):
    """ONNX Runtime has these two on GPUs alone."""
    x, gamma, beta = floats(2, 4, 3, 6), floats(6), floats(6)
    channels_first = np.moveaxis(x, -1, 1).astype(np.float64)
    groups = channels_first.reshape(2, 3, -1)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(
        groups.var(-1, keepdims=True) + np.float64(np.float32(1e-5))
    )
    y = normal.reshape(2, 6, 4, 3) * gamma[:, None, None] + beta[:, None, None]
    y = y / (1 + np.exp(-y)) if activation else y
    given = x if last else np.ascontiguousarray(np.moveaxis(x, -1, 1))
    expected = np.moveaxis(y, 1, -1) if last else y
    attributes = {"groups": 3, "activation": activation, "channels_last": last}
    got = OneNode("GroupNorm", [given, gamma, beta], **attributes).by_kernel()[0]
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    zero = np.zeros((2, 6), np.float32)
    node = OneNode("SkipGroupNorm", [given, gamma, beta, zero], outputs=2, **attributes)
    got, total = node.by_kernel()
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(total, given)


def test_bias_add_and_bias_split_gelu_by_their_definition():
    """GPUs alone again."""
    x, bias, skip = floats(2, 3, 8), floats(8), floats(2, 3, 8)
    wide = x.astype(np.float64)
    got = OneNode("BiasAdd", [x, bias, skip]).by_kernel()[0]
    np.testing.assert_allclose(got, wide + bias + skip, rtol=1e-12)
    got = OneNode("BiasSplitGelu", [x, bias]).by_kernel()[0]
    left, right = np.split(wide + bias, 2, axis=-1)
    right = OneNode("Gelu", [right]).by_kernel()[0]
    np.testing.assert_allclose(got, left * right, rtol=1e-12)


def test_fourier_transforms_are_inverse_and_match_the_sum():
    x = floats(3, 8)
    spectrum = OneNode("Rfft", [x], signal_ndim=1).by_kernel()[0]
    angles = -2j * np.pi * np.outer(np.arange(8), np.arange(5)) / 8
    direct = x.astype(np.float64) @ np.exp(angles)
    np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], direct, atol=1e-12)
    back = OneNode("Irfft", [spectrum], signal_ndim=1).by_kernel()[0]
    np.testing.assert_allclose(back, x, atol=1e-12)


def test_bias_softmax_covers_every_axis_from_its_own_on():
    x, bias = floats(2, 3, 4, 5), floats(2, 1, 4, 5)
    y = OneNode("BiasSoftmax", [x, bias], axis=2, is_inner_broadcast=1).by_kernel()[0]
    np.testing.assert_allclose(y.sum(axis=(2, 3)), 1.0)
    logits = x.astype(np.float64) + bias
    expected = np.exp(logits) / np.exp(logits).sum(axis=(2, 3), keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-12)


def test_dropout_in_inference_only_adds():
    x, bias, residual = floats(3, 40), floats(40), floats(3, 40)
    y, mask = OneNode("BitmaskBiasDropout", [x, bias, residual], outputs=2).by_kernel()
    np.testing.assert_allclose(y, x.astype(np.float64) + bias + residual, rtol=1e-12)
    assert mask.dtype == np.uint32
    assert mask.shape == (4,)
    assert np.all(mask == 0xFFFFFFFF)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_crop_and_resize(mode):
    boxes = np.array(
        [[0.1, 0.2, 0.9, 0.7], [-0.2, 0.0, 1.1, 1.0], [0.8, 0.9, 0.2, 0.1]], np.float32
    )
    inputs = [floats(2, 3, 7, 9), boxes, np.array([0, 1, 1], np.int32), np.array([4, 5], np.int32)]
    node = OneNode("CropAndResize", inputs, mode=mode, extrapolation_value=2.5)
    assert_same_within_rounding(node)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_grid_sample(mode, padding, corners):
    # Its own numbers: a place between two pixels may be rounded to either, and would prove nothing.
    grid = np.random.default_rng(5).uniform(-1.4, 1.4, (2, 4, 5, 2)).astype(np.float32)
    node = OneNode("GridSample", [floats(2, 3, 6, 7), grid], mode=mode, padding_mode=padding,
                   align_corners=corners)  # fmt: skip
    assert_same_within_rounding(node)


def test_channels_last():
    x, w = floats(2, 7, 6, 4), floats(8, 4, 3, 3)
    first = np.ascontiguousarray(np.moveaxis(x, -1, 1))
    expected = OneNode("FusedConv", [first, w, floats(8)], activation="Relu", pads=[1] * 4)
    for op, extra in (("NhwcFusedConv", {"activation": "Relu"}), ("NhwcConv", {})):
        node = OneNode(op, [x, w, expected.inputs[2]], pads=[1] * 4, **extra)
        y = np.moveaxis(node.by_kernel()[0], -1, 1)
        y = np.maximum(y, 0) if op == "NhwcConv" else y
        np.testing.assert_allclose(y, expected.by_kernel()[0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_channels_last_max_pool(dtype):
    x = RANDOM.integers(0, 100, (2, 7, 6, 4)).astype(dtype)
    node = OneNode("NhwcMaxPool", [x], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    assert_same_within_rounding(node)


def test_what_onnx_runtime_declares_without_a_cpu_kernel():
    """Held to the definition that the schema states."""
    x, y, gate = floats(2, 3, 4), floats(2, 3, 4), floats(2, 3, 1)
    wide = x.astype(np.float64)

    def result(op, inputs, **attributes):
        return OneNode(op, inputs, **attributes).by_kernel()[0]

    np.testing.assert_allclose(result("GatedAdd", [x, y, gate]), wide + np.float64(y) * gate)
    for inputs, scale in (([x], 0.5), ([x, np.float32(3)], 3.0)):
        got = result("ScaledSiLU", inputs, alpha=0.5)
        np.testing.assert_allclose(got, scale * wide / (1 + np.exp(-scale * wide)), rtol=1e-12)
    left, right = wide[..., 0] + 1j * wide[..., 1], np.float64(y[..., 0]) + 1j * y[..., 1]
    pairs = [x[..., :2], y[..., :2]]
    for op, expected in (("ComplexMul", left * right), ("ComplexMulConj", left * right.conj())):
        got = result(op, pairs)
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], expected, rtol=1e-12)
    table, rows = floats(7, 4), np.array([[1, 6], [0, 0]])
    np.testing.assert_array_equal(result("TorchEmbedding", [table, rows]), table[rows])


@pytest.mark.parametrize(("flags", "with_nan", "with_inf"), [
    ({}, False, False), ({"isinf_only": 1}, True, False), ({"isnan_only": 1}, False, True),
])  # fmt: skip
def test_is_all_finite(flags, with_nan, with_inf):
    """The answer to a tensor with a NaN, and to one with an infinity."""
    good = np.ones(3, np.float32)
    for bad, expected in ((np.nan, with_nan), (np.inf, with_inf), (0.0, True)):
        poor = np.array([1, bad], np.float32)
        got = OneNode("IsAllFinite", [good, poor], **flags).by_kernel()[0]
        assert got.dtype == bool
        assert bool(got) is expected


def test_products_behind_an_activation():
    a, b, bias = floats(3, 4), floats(4, 5), floats(5)
    wide = np.float64(a) @ np.float64(b)
    node = OneNode("FusedMatMulActivation", [a, b], activation="LeakyRelu", activation_alpha=0.3)
    np.testing.assert_allclose(node.by_kernel()[0], np.where(wide > 0, wide, wide * 0.3))
    node = OneNode("FusedMatMulActivation", [a, b], activation="Softmax", activation_axis=0)
    np.testing.assert_allclose(node.by_kernel()[0].sum(axis=0), 1.0)
    z = wide + bias
    tanh = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    node = OneNode("GemmFastGelu", [a, b, bias])
    np.testing.assert_allclose(node.by_kernel()[0], tanh, rtol=1e-9)
