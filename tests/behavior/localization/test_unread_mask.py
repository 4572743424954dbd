"""Where the given mask shows nothing, other values name the node that should have read it."""

import numpy as np
import pytest

import isomorph
from weight_pairs import F32, floats, model, node

RANDOM = np.random.default_rng(4)
ROWS, WIDTH = 5, 6
CONSTANTS = {
    "causal": np.tril(np.ones((ROWS, ROWS), F32)), "sizes": np.array([2, ROWS, ROWS], np.int64),
    "w": RANDOM.standard_normal((WIDTH, WIDTH)).astype(F32),
}  # fmt: skip
GIVEN = {
    "x": RANDOM.standard_normal((2, ROWS, WIDTH)).astype(F32), "mask": np.ones(ROWS, F32)
}  # fmt: skip


def attention(*, padding=True, expanded=True):
    """Linear scores, of which a triangle and, with ``padding``, a mask leave some."""
    seen = "both" if padding else "causal"
    nodes = [
        *([node("Mul", "causal mask", "both")] if padding else []),
        *([node("Expand", f"{seen} sizes", "wide")] if expanded else []),
        node("MatMul", "x w", "q"), node("Transpose", "x", "k", perm=[0, 2, 1]),
        node("MatMul", "q k", "scores"),
        node("Mul", f"{'wide' if expanded else seen} scores", "left"), node("Tanh", "left", "t"),
        node("MatMul", "t x", "y"),
    ]  # fmt: skip
    inputs = {"x": floats(2, ROWS, WIDTH), "mask": floats(ROWS)}
    used = {name for each in nodes for name in each.input}
    constants = {name: value for name, value in CONSTANTS.items() if name in used}
    return model(nodes, inputs, {"y": floats(2, ROWS, WIDTH)}, constants)


@pytest.mark.parametrize("expanded", [True, False])
def test_the_node_that_should_have_read_the_mask_is_named(expanded):
    sides = attention(expanded=expanded), attention(padding=False, expanded=expanded)
    report = isomorph.check(*sides, inputs=GIVEN, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    [found] = [each for each in report.findings if each.code == "LATENT"]
    assert found.cause == "interface"
    assert found.node == "Mul_left"
    assert found.experiments[0].agrees


def test_the_same_mask_on_both_sides_is_no_difference():
    report = isomorph.check(attention(), attention(), inputs=GIVEN, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
