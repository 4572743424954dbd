"""The attentions of ONNX Runtime, and rotary embedding, against ONNX Runtime itself."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.kernels.registry import load_all
from one_node import OneNode, assert_same_within_rounding

load_all()
RANDOM = np.random.default_rng(17)
BATCH, LENGTH, HEADS, SIZE = 2, 5, 2, 4
WIDTH = HEADS * SIZE


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


X, W, B = floats(BATCH, LENGTH, 6), floats(6, 3 * WIDTH), floats(3 * WIDTH)
MASKS = {
    "none": None,
    "raw": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
    "raw per query": RANDOM.integers(0, 2, (BATCH, LENGTH, LENGTH)).astype(np.int32),
    "lengths": np.array([3, 5], np.int32),
    "ends and starts": np.array([4, 5, 0, 2], np.int32),
}


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_attention_masks(mask, causal):
    node = OneNode("Attention", [X, W, B, mask], num_heads=HEADS, unidirectional=causal)
    assert_same_within_rounding(node)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("kept", ["past", "bias"])
def test_attention_with_past_or_bias(kept, causal):
    """ONNX Runtime takes one or the other."""
    past = floats(2, BATCH, HEADS, 3, SIZE) if kept == "past" else None
    bias = floats(BATCH, HEADS, LENGTH, LENGTH) if kept == "bias" else None
    node = OneNode(
        "Attention",
        [X, W, B, None, past, bias],
        outputs=2 if kept == "past" else 1,
        num_heads=HEADS,
        unidirectional=causal,
        scale=0.3,
    )
    assert_same_within_rounding(node)


def test_attention_with_a_wider_value():
    weights, bias = floats(6, 2 * WIDTH + 12), floats(2 * WIDTH + 12)
    sizes = [WIDTH, WIDTH, 12]
    node = OneNode("Attention", [X, weights, bias], num_heads=HEADS, qkv_hidden_sizes=sizes)
    assert_same_within_rounding(node)


def test_attention_refuses_what_it_does_not_compute():
    node = OneNode("Attention", [X, W, B], num_heads=HEADS, do_rotary=1)
    with pytest.raises(UnreadableModelError, match="rotary"):
        node.by_kernel()


Q, K, V = floats(BATCH, LENGTH, WIDTH), floats(BATCH, 7, WIDTH), floats(BATCH, 7, WIDTH)


@pytest.mark.parametrize("inputs", [
    [Q, K, V],
    [Q, K, V, floats(3 * WIDTH)],
    [Q, K, V, None, np.array([[1, 1, 1, 1, 1, 0, 0], [1] * 7], np.int32)],
    [Q, K, V, None, np.array([4, 7], np.int32)],
    [Q, K, V, None, None, floats(1, HEADS, LENGTH, 7)],
    [Q, K, V, floats(3 * WIDTH), np.array([[1] * 6 + [0]] * 2, np.int32),
     floats(BATCH, 1, LENGTH, 7)],
    [Q, floats(BATCH, HEADS, 7, SIZE), floats(BATCH, HEADS, 7, SIZE)],
], ids=["plain", "bias", "mask", "lengths", "scores", "all", "keys by head"])  # fmt: skip
def test_multi_head_attention(inputs):
    assert_same_within_rounding(OneNode("MultiHeadAttention", inputs, num_heads=HEADS))


def test_multi_head_attention_packed():
    packed = floats(BATCH, LENGTH, HEADS, 3, SIZE)
    expected = OneNode(
        "MultiHeadAttention",
        [packed[:, :, :, k].reshape(BATCH, LENGTH, WIDTH) for k in range(3)],
        num_heads=HEADS,
    )
    ours = OneNode("MultiHeadAttention", [packed], num_heads=HEADS).by_kernel()[0]
    np.testing.assert_allclose(ours, expected.by_kernel()[0], rtol=1e-12)


@pytest.mark.parametrize("causal", [0, 1])
def test_multi_head_attention_with_past(causal):
    past = [floats(BATCH, HEADS, 3, SIZE) for _ in range(2)]
    key, value = floats(BATCH, LENGTH, WIDTH), floats(BATCH, LENGTH, WIDTH)
    node = OneNode("MultiHeadAttention", [Q, key, value, None, None, None, *past], outputs=3,
                   num_heads=HEADS, unidirectional=causal)  # fmt: skip
    assert_same_within_rounding(node)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("partial", [False, True])
def test_rotary_embedding(interleaved, partial):
    angles = RANDOM.uniform(-3, 3, (9, 2 if partial else 4)).astype(np.float32)
    tables = [np.cos(angles), np.sin(angles)]
    extra = {"interleaved": interleaved}
    if partial:
        extra |= {"rotary_embedding_dim": 4, "num_heads": 3}
    positions = RANDOM.integers(0, 9, (2, 5)).astype(np.int64)
    for inputs in ([floats(2, 3, 5, 8), positions], [floats(2, 5, 24), positions],
                   [floats(2, 5, 24), np.array([3])]):  # fmt: skip
        assert_same_within_rounding(OneNode("RotaryEmbedding", [*inputs, *tables], **extra))


ANGLES = RANDOM.uniform(-3, 3, (16, 8)).astype(np.float32)
GROUPED = {"num_heads": 4, "kv_num_heads": 2}


def grouped(length, past, *, extra=(), outputs=3, **attributes):
    """Rows of one batch with ``past`` keys each before ``length`` new ones."""
    total = length + past
    state = [floats(BATCH, 2, past, 16) for _ in range(2)] if past else [None, None]
    new = [floats(BATCH, length, width) for width in (64, 32, 32)]
    lasts = np.full(BATCH, total - 1, np.int32)
    tables = [np.cos(ANGLES), np.sin(ANGLES)] if attributes.get("do_rotary") else [None, None]
    inputs = [*new, *state, lasts, np.int32(total), *tables, *extra]
    return OneNode("GroupQueryAttention", inputs, outputs=outputs, **GROUPED, **attributes)


@pytest.mark.parametrize(("length", "past"), [(5, 0), (1, 4)], ids=["prompt", "next token"])
@pytest.mark.parametrize("attributes", [
    {}, {"do_rotary": 1}, {"do_rotary": 1, "rotary_interleaved": 1}, {"scale": 0.2},
    {"softcap": 2.0}, {"local_window_size": 3}, {"smooth_softmax": 1},
], ids=str)  # fmt: skip
def test_group_query_attention(length, past, attributes):
    assert_same_within_rounding(grouped(length, past, **attributes))


def test_group_query_attention_packed_biased_and_with_sinks():
    node = grouped(5, 0, extra=[None, floats(BATCH, 4, 5, 5), floats(4)])
    assert_same_within_rounding(node)
    plain = grouped(5, 0)
    packed = np.concatenate(plain.inputs[:3], axis=-1)
    inputs = [packed, None, None, *plain.inputs[3:]]
    together = OneNode("GroupQueryAttention", inputs, outputs=3, **GROUPED)
    for one, other in zip(together.by_kernel(), plain.by_kernel(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_group_query_attention_rows_of_different_length():
    node = grouped(1, 6, do_rotary=1)
    node.inputs[5] = np.array([6, 3], np.int32)
    assert_same_within_rounding(node, only=(0,))


def test_multi_head_attention_gives_its_scores():
    mask = np.array([[1, 1, 1, 1, 1, 0, 0], [1] * 7], np.int32)
    inputs = [Q, K, V, None, mask, floats(1, HEADS, LENGTH, 7)]
    node = OneNode("MultiHeadAttention", inputs, outputs=4, num_heads=HEADS, typed=True)
    assert_same_within_rounding(node)


@pytest.mark.parametrize("asked", [1, 2])
def test_group_query_attention_gives_its_scores_or_weights(asked):
    bias = floats(BATCH, 4, 5, 5)
    node = grouped(5, 0, extra=[None, bias], outputs=4, qk_output=asked, typed=True)
    assert_same_within_rounding(node)
