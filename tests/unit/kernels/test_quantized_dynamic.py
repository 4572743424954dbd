"""Kernels that quantize at run time, packed weights, quantized attention and embedding."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.kernels.registry import load_all
from one_node import OneNode, assert_same_within_rounding, rounding

load_all()
RANDOM = np.random.default_rng(23)
COARSE = 0.05
"""One step of 8 bits, against the values: the most that run-time quantizing may cost."""


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def signed(*shape):
    # Seven bits: on CPUs without VNNI, ONNX Runtime saturates pairs of wider products.
    return RANDOM.integers(-63, 64, shape).astype(np.int8)


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("bias", [None, floats(6)])
def test_dynamic_quantize_matmul(per_column, bias):
    scale = RANDOM.uniform(0.01, 0.02, 6).astype(np.float32) if per_column else np.float32(0.013)
    zero = np.zeros(6, np.int8) if per_column else np.int8(5)
    inputs = [floats(2, 5, 16), signed(16, 6), scale, zero, bias]
    node = OneNode("DynamicQuantizeMatMul", inputs)
    assert_same_within_rounding(node, noise_share=COARSE)
    a, b = inputs[0].astype(np.float64), inputs[1] - np.float64(inputs[3])
    exact = a @ (b * np.float64(scale)) + (0 if bias is None else bias)
    np.testing.assert_allclose(node.by_kernel()[0], exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, np.array([3, 6], np.int32)])
@pytest.mark.parametrize("per_channel", [False, True])
def test_dynamic_quantize_lstm(direction, lengths, per_channel):
    sides, hidden, width = (2 if direction == "bidirectional" else 1), 5, 4
    grid = (sides, 4 * hidden) if per_channel else (sides,)
    scales = [RANDOM.uniform(0.004, 0.008, grid).astype(np.float32) for _ in range(2)]
    inputs = [
        floats(6, 2, width), signed(sides, width, 4 * hidden), signed(sides, hidden, 4 * hidden),
        floats(sides, 8 * hidden), lengths, floats(sides, 2, hidden), floats(sides, 2, hidden),
        None, scales[0], np.zeros(grid, np.int8), scales[1], np.zeros(grid, np.int8),
    ]  # fmt: skip
    node = OneNode("DynamicQuantizeLSTM", inputs, outputs=3, hidden_size=hidden,
                   direction=direction)  # fmt: skip
    assert_same_within_rounding(node, noise_share=COARSE)


def test_stepwise_lstm_is_the_lstm():
    """With a vanishing step the noisy path, which goes step by step, gives the quiet result."""

    class Quiet(type(rounding())):
        def __init__(self):
            super().__init__(0)
            self.enter("n", 0.0)

        @property
        def random(self):
            return self

        def uniform(self, low, high, shape):
            return np.zeros(shape)

    grid = (2, 12)
    inputs = [
        floats(5, 3, 4), signed(2, 4, 12), signed(2, 3, 12), floats(2, 24),
        np.array([5, 2, 0], np.int32), floats(2, 3, 3), floats(2, 3, 3), floats(2, 9),
        np.full(grid, 0.01, np.float32), np.zeros(grid, np.int8),
        np.full(grid, 0.01, np.float32), np.zeros(grid, np.int8),
    ]  # fmt: skip
    node = OneNode("DynamicQuantizeLSTM", inputs, outputs=3, hidden_size=3, clip=2.0,
                   direction="bidirectional")  # fmt: skip
    for quiet, stepwise in zip(node.by_kernel(), node.by_kernel(Quiet()), strict=True):
        np.testing.assert_allclose(quiet, stepwise, rtol=1e-12, atol=1e-12)


def packed_weights(rows, inner, block, bits):
    blocks = -(-inner // block)
    fields = RANDOM.integers(0, 2**bits, (rows, blocks, block)).astype(np.uint8)
    per_byte = 8 // bits
    grouped = fields.reshape(rows, blocks, -1, per_byte)
    shifted = grouped.astype(np.uint16) << (bits * np.arange(per_byte, dtype=np.uint16))
    return shifted.sum(-1).astype(np.uint8), blocks


@pytest.mark.parametrize("inner", [64, 40])
@pytest.mark.parametrize(
    ("bits", "zeros"), [(4, "none"), (4, "packed"), (4, "float"), (8, "none"), (8, "packed")]
)
def test_matmul_n_bits(inner, bits, zeros):
    packed, blocks = packed_weights(6, inner, 32, bits)
    scales = RANDOM.uniform(0.01, 0.1, (6, blocks)).astype(np.float32)
    zero = {
        "none": None,
        "packed": RANDOM.integers(0, 256, (6, -(-blocks * bits // 8))).astype(np.uint8),
        "float": RANDOM.uniform(0, 2**bits, (6, blocks)).astype(np.float32),
    }[zeros]
    inputs = [floats(3, inner), packed, scales, zero, None, floats(6)]
    node = OneNode("MatMulNBits", inputs, N=6, K=inner, block_size=32, bits=bits)
    assert_same_within_rounding(node)


def test_matmul_n_bits_at_accuracy_level_4_may_quantize_its_input():
    packed, blocks = packed_weights(6, 64, 32, 4)
    scales = RANDOM.uniform(0.01, 0.1, (6, blocks)).astype(np.float32)
    inputs = [floats(3, 64), packed, scales]
    node = OneNode("MatMulNBits", inputs, N=6, K=64, block_size=32, bits=4, accuracy_level=4)
    assert_same_within_rounding(node, noise_share=COARSE)
    # A run is off by as much; another graph is not.
    exact, apart = node.by_kernel()[0], node.by_kernel(rounding(1))[0]
    assert np.max(np.abs(apart - exact)) < 1e-5
    assert np.max(np.abs(node.by_kernel(rounding(1, run_time=True))[0] - exact)) > 1e-3


def test_q_attention():
    x = RANDOM.integers(0, 256, (2, 5, 6)).astype(np.uint8)
    scale = RANDOM.uniform(0.005, 0.01, 24).astype(np.float32)
    mask = np.array([3, 5], np.int32)
    inputs = [x, signed(6, 24), floats(24), np.float32(0.02), scale, mask, np.uint8(120),
              np.zeros(24, np.int8)]  # fmt: skip
    for causal in (0, 1):
        node = OneNode("QAttention", inputs, num_heads=2, unidirectional=causal)
        assert_same_within_rounding(node)


def test_q_embed_layer_normalization():
    words, segments = (RANDOM.integers(0, n, (2, 5)).astype(np.int32) for n in (11, 2))
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    tables = [signed(11, 8), signed(6, 8), signed(2, 8), signed(8), signed(8)]
    grids = [np.float32(s) for s in (0.01, 0.02, 0.03, 0.01, 0.02)]
    zeros = [np.int8(z) for z in (1, -2, 3, 0, 5)]
    inputs = [words, segments, *tables, mask, *grids, *zeros]
    assert_same_within_rounding(OneNode("QEmbedLayerNormalization", inputs, outputs=2))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_gather_block_quantized(bits, zeros):
    packed = RANDOM.integers(0, 256, (9, 64 * bits // 8)).astype(np.uint8)
    scales = RANDOM.uniform(0.01, 0.1, (9, 4)).astype(np.float32)
    zero = RANDOM.integers(0, 256, (9, 4 * bits // 8)).astype(np.uint8) if zeros else None
    inputs = [packed, np.array([[3, 8], [-1, 0]]), scales, zero]
    node = OneNode("GatherBlockQuantized", inputs, block_size=16, bits=bits, quantize_axis=1)
    assert_same_within_rounding(node)
