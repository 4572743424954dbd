"""What packed weights were rounded from, and faults that their loss hides."""

import numpy as np
import pytest
from onnx import helper

import isomorph
from isomorph.core.divergence import Verdict
from weight_pairs import F32, floats, model, node, normal

ROWS, INNER, BLOCK = 24, 64, 32
ON_GRID = np.linspace(-0.73, 1.4, 16, dtype=F32)
"""Numbers that a quantizer with an integer zero point moves all in one direction."""


def weights(*, seed=1):
    """A weight whose blocks lie on grids without a zero, as those of a dequantized file."""
    draw = np.random.default_rng(seed)
    steps = draw.uniform(0.5, 1.0, (ROWS, INNER // BLOCK, 1)).astype(F32)
    return (draw.choice(ON_GRID, (ROWS, INNER // BLOCK, BLOCK)) * steps).reshape(ROWS, INNER)


def reference(*, slope=0.1):
    nodes = [
        node("Transpose", "w", "t", perm=[1, 0]),
        node("MatMul", "x t", "a"),
        node("LeakyRelu", "a", "y", alpha=slope),
    ]
    return model(nodes, {"x": floats(4, INNER)}, {"y": floats(4, ROWS)}, {"w": weights()})


def packed(*, slope=0.1, coarse=1.0, shift=0, level=0):
    """The same with its weight in four bits, as ONNX Runtime's quantizer stores it."""
    blocks = weights().reshape(ROWS, -1, BLOCK)
    low = np.minimum(blocks.min(axis=2, keepdims=True), 0)
    high = np.maximum(blocks.max(axis=2, keepdims=True), 0)
    steps = ((high - low) / 15 * coarse).astype(F32)
    zeros = np.rint(-low / steps) + shift
    fields = np.clip(np.rint(blocks / steps) + zeros - shift, 0, 15).astype(np.uint8)
    pairs, points = fields.reshape(ROWS, -1, BLOCK // 2, 2), zeros.reshape(ROWS, -1, 2)
    points = points.astype(np.uint8)
    constants = {
        "w": pairs[..., 0] | pairs[..., 1] << 4,
        "s": steps.reshape(-1),
        "z": (points[..., 0] | points[..., 1] << 4).reshape(-1),
    }
    product = helper.make_node(
        "MatMulNBits", ["x", "w", "s", "z"], ["a"], name="product", domain="com.microsoft",
        bits=4, block_size=BLOCK, K=INNER, N=ROWS, accuracy_level=level,
    )  # fmt: skip
    made = model(
        [product, node("LeakyRelu", "a", "y", alpha=slope)],
        {"x": floats(4, INNER)}, {"y": floats(4, ROWS)}, constants,
    )  # fmt: skip
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def checked(candidate):
    # Numbers of one sign add up what is moved in one direction.
    feeds = {"x": np.abs(normal(4, INNER, seed=9))}
    return isomorph.check(reference(), candidate, inputs=feeds, in_process=True)


def test_errors_that_are_equal_in_a_block_are_the_loss_of_the_weights():
    assert checked(packed()).verdict is Verdict.DEGRADED


def test_what_the_loss_hides_is_found_at_its_node():
    report = checked(packed(slope=0.1001))
    assert report.verdict is Verdict.DIVERGENT
    assert "LeakyRelu_y" in {each.node for each in report.findings}


@pytest.mark.parametrize("wrong", [{"coarse": 6.0}, {"shift": 1}])
def test_what_no_quantizer_chooses_is_no_fair_rounding(wrong):
    report = checked(packed(**wrong))
    assert report.verdict is Verdict.DIVERGENT
    assert {each.node for each in report.findings if each.code == "GUILTY_NODE"} == {"product"}
