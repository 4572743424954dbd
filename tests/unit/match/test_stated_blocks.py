"""Constants that state their own scales, and those that do not count."""

from dataclasses import replace

from described_graphs import graph, node
from isomorph.core.model import Constant, Quantization
from isomorph.match.stated_blocks import in_blocks, read_in_blocks, stated_blocks


def constant(name, dtype, shape):
    return Constant(name=name, dtype=dtype, shape=shape, digest=name, value_digest=name)


def quantized(*entries, nodes=None):
    made = graph(nodes or [node("product", "Gemm", "x w")], framework="tflite")
    stored = {
        each.name: each
        for each in (constant("w", "int4", (4, 64)), constant("s", "float16", (4, 2)))
    }
    return replace(made, quantization=entries, constants=stored)


BLOCKS = Quantization(
    tensor="w", dtype="int4", scale=(), zero_point=(), axis=1, block=32, scales="s"
)
CHANNELS = Quantization(
    tensor="w", dtype="int4", scale=(0.1, 0.2, 0.3, 0.4), zero_point=(0,) * 4, axis=0
)


def test_blocks_and_channels_are_known_by_the_constant():
    assert stated_blocks(quantized(BLOCKS)) == {"w": BLOCKS}
    assert stated_blocks(quantized(CHANNELS)) == {"w": CHANNELS}
    assert in_blocks(quantized(BLOCKS), "w")
    assert not in_blocks(quantized(CHANNELS), "w")


def test_real_numbers_go_to_the_constant_or_behind_the_node_that_dequantizes():
    made = quantized(BLOCKS)
    assert list(read_in_blocks(made, made.nodes[0])) == [(BLOCKS, "w")]
    nodes = [node("widen", "DequantizeLinear", "w"), node("product", "Gemm", "x widen.out")]
    made = quantized(BLOCKS, nodes=nodes)
    assert list(read_in_blocks(made, made.nodes[0])) == [(BLOCKS, made.nodes[0].outputs[0])]


def test_what_is_no_weight_alone_does_not_count():
    activation = Quantization(tensor="x", dtype="int8", scale=(0.1,), zero_point=(0,))
    assert not stated_blocks(quantized(CHANNELS, activation))
    assert not stated_blocks(quantized(replace(CHANNELS, dtype="int32")))
    assert not stated_blocks(quantized(replace(CHANNELS, axis=1)))
    assert not stated_blocks(quantized(replace(BLOCKS, scales="nothing")))
