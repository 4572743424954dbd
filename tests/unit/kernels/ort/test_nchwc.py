"""The blocked layout against ONNX Runtime, operator by operator, in its own memory order."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.kernels.ort import nchwc
from isomorph.kernels.ort.nchwc import NCHWC, block_size, blocked, unblocked
from isomorph.kernels.registry import load_all
from one_node import OneNode, assert_same_within_rounding

load_all()
RANDOM = np.random.default_rng(29)
BLOCK = block_size()


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def node(op, inputs, **attributes):
    return OneNode(op, inputs, domain=NCHWC, **attributes)


@pytest.mark.parametrize("channels", [BLOCK, BLOCK + 4, 3 * BLOCK])
def test_reordering_fills_up_and_comes_back(channels):
    x = floats(2, channels, 3, 5)
    assert_same_within_rounding(node("ReorderInput", [x]))
    memory = node("ReorderInput", [x]).by_kernel()[0]
    assert memory.shape[1] % BLOCK == 0
    back = node("ReorderOutput", [memory.astype(np.float32)], channels=channels)
    assert_same_within_rounding(back)
    np.testing.assert_array_equal(back.by_kernel()[0], x)


def test_reordering_with_channels_last():
    x = floats(2, 3, 5, 2 * BLOCK)
    assert_same_within_rounding(node("ReorderInput", [x], channels_last=1))
    memory = blocked(np.moveaxis(x, -1, 1))
    back = node("ReorderOutput", [memory], channels=2 * BLOCK, channels_last=1)
    assert_same_within_rounding(back)


def blocked_weights(w):
    out, inner, *window = w.shape
    split = w.reshape(out // BLOCK, BLOCK, inner // BLOCK, BLOCK, *window)
    return np.ascontiguousarray(split.transpose(0, 2, 4, 5, 3, 1)).reshape(w.shape)


def output_blocked_weights(w):
    split = w.reshape(w.shape[0] // BLOCK, BLOCK, *w.shape[1:])
    return np.ascontiguousarray(split.transpose(0, 2, 3, 4, 1)).reshape(w.shape)


CONVS = {
    "dense": (blocked(floats(2, 2 * BLOCK, 6, 7)), floats(BLOCK, 2 * BLOCK, 3, 3), 1),
    "pointwise": (blocked(floats(2, 2 * BLOCK, 6, 7)), floats(BLOCK, 2 * BLOCK, 1, 1), 1),
    "few channels": (floats(2, 3, 6, 7), floats(BLOCK, 3, 3, 3), 1),
    "depthwise": (blocked(floats(2, BLOCK, 6, 7)), floats(BLOCK, 1, 3, 3), BLOCK),
    "grouped": (blocked(floats(2, 2 * BLOCK, 6, 7)), floats(2 * BLOCK, BLOCK, 3, 3), 2),
}


@pytest.mark.parametrize("case", CONVS)
@pytest.mark.parametrize("residual", [False, True])
def test_conv(case, residual):
    x, w, group = CONVS[case]
    few = w.shape[1] < BLOCK
    stored = output_blocked_weights(w) if few else blocked_weights(w)
    pads = [w.shape[2] // 2] * 4
    inputs = [x, stored, floats(w.shape[0])]
    if residual:
        inputs.append(blocked(floats(2, w.shape[0], 6, 7)))
    conv = node("Conv", inputs, group=group, pads=pads, activation="LeakyRelu",
                activation_params=[0.2])  # fmt: skip
    assert_same_within_rounding(conv)


@pytest.mark.parametrize(("op", "attributes"), [
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("AveragePool", {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1]}),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    ("GlobalAveragePool", {}),
    ("GlobalMaxPool", {}),
    ("Upsample", {"scales": [1, 1, 2, 3]}),
    ("Upsample", {"scales": [1, 1, 2, 3], "mode": "linear"}),
    ("Upsample", {"scales": [1, 1, 2, 3], "mode": "linear",
                  "coordinate_transformation_mode": "align_corners"}),
    ("Upsample", {"scales": [1, 1, 2, 3], "mode": "linear",
                  "coordinate_transformation_mode": "half_pixel"}),
])  # fmt: skip
def test_pools_and_upsampling(op, attributes):
    memory = blocked(floats(2, 2 * BLOCK, 5, 6))
    assert_same_within_rounding(node(op, [memory], **attributes))


@pytest.mark.parametrize("block", [8, 16])
def test_blocks_of_either_width_are_inverse(monkeypatch, block):
    """One machine has one width; the arithmetic of the other is held to its own inverse."""
    monkeypatch.setattr(nchwc, "block_size", lambda: block)
    x = floats(2, 20, 3, 4)
    memory = blocked(x)
    assert memory.shape == (2, 24 if block == 8 else 32, 3, 4)
    np.testing.assert_array_equal(unblocked(memory)[:, :20], x)
    assert memory.reshape(-1)[1] == x[0, 1, 0, 0], "neighbors in memory are channels"
