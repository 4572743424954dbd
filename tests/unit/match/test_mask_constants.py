"""Very negative constants: masks before a softmax, and biases before a rectifier."""

import numpy as np
import pytest

import isomorph
from weight_pairs import F32, floats, model, node, normal

WEIGHT = normal(6, 5, seed=1)
LOWEST = float(np.finfo(F32).min)


def biased(number, *, end):
    bias = np.float32([-1000, -1000, 0.5, -1000, number])
    constants = {"w": WEIGHT, "b": bias, "least": F32(0 if end == "clip" else LOWEST)}
    last = {
        "clip": [node("Clip", "c least", "y")],
        "softmax": [node("Softmax", "c", "y", axis=-1)],
        "limited softmax": [node("Max", "c least", "d"), node("Softmax", "d", "y", axis=-1)],
    }[end]
    if end == "softmax":
        del constants["least"]
    nodes = [node("MatMul", "x w", "a"), node("Add", "a b", "c"), *last]
    return model(nodes, {"x": floats(3, 6)}, {"y": floats(3, 5)}, constants)


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        ("clip", isomorph.Verdict.DIVERGENT),
        ("softmax", isomorph.Verdict.EQUIVALENT),
        ("limited softmax", isomorph.Verdict.EQUIVALENT),
    ],
)
def test_another_very_negative_number_matters_unless_it_is_exponentiated(end, verdict):
    feeds = {"x": normal(3, 6, seed=2)}
    report = isomorph.check(biased(-1000, end=end), biased(-1010, end=end), inputs=feeds,
                            in_process=True)  # fmt: skip
    assert report.verdict is verdict, report.reason
