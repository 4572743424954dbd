"""Weights of four bits that are packed wrongly: the check names how."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict

ROWS, INNER, BLOCK, BITS = 24, 64, 16, 4
MOST = 2**BITS - 1
BLOCKS = INNER // BLOCK


def saved(path, nodes, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, INNER])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, ROWS])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def quantized(weight):
    """Fields, zero points and scales of each block between its smallest and largest number."""
    blocks = weight.reshape(ROWS, BLOCKS, BLOCK)
    low, high = (np.minimum(blocks.min(-1), 0.0), np.maximum(blocks.max(-1), 0.0))
    scales = ((high - low) / MOST).astype(np.float32)
    zeros = np.clip(np.rint(-low / scales), 0, MOST)
    fields = np.clip(np.rint(blocks / scales[..., None]) + zeros[..., None], 0, MOST)
    return fields.reshape(ROWS, INNER).astype(np.uint8), zeros.astype(np.uint8), scales


def packed(fields):
    return (fields[..., ::2] | (fields[..., 1::2] << 4)).astype(np.uint8)


@pytest.fixture
def pair(tmp_path):
    """The two models; the second packed by what it gets."""
    weight = np.random.default_rng(0).normal(size=(ROWS, INNER)).astype(np.float32)
    middle = [helper.make_node("Tanh", ["m"], ["y"], name="last")]
    plain = [helper.make_node("MatMul", ["x", "w"], ["m"], name="product"), *middle]
    reference = saved(tmp_path / "float.onnx", plain, {"w": np.ascontiguousarray(weight.T)})

    def made(change=lambda fields, zeros, scales: (fields, zeros, scales)):
        fields, zeros, scales = change(*quantized(weight))
        constants = {
            "q": packed(fields).reshape(ROWS, BLOCKS, BLOCK // 2),
            "s": np.ascontiguousarray(scales).reshape(-1),
            "z": packed(zeros).reshape(-1),
        }
        node = helper.make_node(
            "MatMulNBits", ["x", "q", "s", "z"], ["m"], name="product", domain="com.microsoft",
            K=INNER, N=ROWS, bits=BITS, block_size=BLOCK,
        )  # fmt: skip
        return reference, saved(tmp_path / "packed.onnx", [node, *middle], constants)

    return made


def other_order(fields, zeros, scales):
    return fields.reshape(ROWS, -1, 2)[..., ::-1].reshape(ROWS, INNER), zeros, scales


def other_axis(fields, zeros, scales):
    return fields, zeros, scales.T


def shifted(fields, zeros, scales):
    return fields, np.minimum(zeros + 1, MOST), scales


def another_weight(fields, zeros, scales):
    return fields[::-1], zeros[::-1], scales[::-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_order, "opposite order"),
        (other_axis, "along the other axis"),
        (shifted, "zero point is off by 1"),
    ],
)
def test_how_weights_are_packed_wrongly_is_named(pair, change, words):
    report = isomorph.check(*pair(change), in_process=True)
    assert report.verdict is Verdict.DIVERGENT, report.reason
    first = report.findings[0]
    assert (first.node, first.cause) == ("product", "quantization"), first.summary
    assert words in first.summary


def test_other_weights_are_no_rounding(pair):
    report = isomorph.check(*pair(another_weight), in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].node == "product"
    assert report.findings[0].cause != "fusion"


def test_weights_that_are_packed_rightly_lose_what_they_have_to(pair):
    report = isomorph.check(*pair(), in_process=True)
    assert report.verdict is Verdict.DEGRADED, report.reason
    assert not [each for each in report.findings if each.cause]
