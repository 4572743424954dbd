"""Most weights off by another training are one finding; a fault, a rounding or folding is none."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import isomorph
from isomorph.localize.other_checkpoint import CODE

DRAW = np.random.default_rng(3)
WEIGHTS = {name: DRAW.normal(size=(6, 6)).astype(np.float32) for name in "abcde"}


def noisy(names="abcde", share=0.01):
    return {
        name: value + np.float32(share) * DRAW.normal(size=value.shape).astype(np.float32)
        if name in names
        else value
        for name, value in WEIGHTS.items()
    }


def saved(path, weights, slope):
    """A product after the other, each with an activation."""
    nodes, last = [], "x"
    for name in weights:
        nodes.append(helper.make_node("MatMul", [last, name], [f"m{name}"], name=f"product_{name}"))
        nodes.append(helper.make_node("LeakyRelu", [f"m{name}"], [f"r{name}"], alpha=slope,
                                      name=f"bend_{name}"))  # fmt: skip
        last = f"r{name}"
    nodes.append(helper.make_node("Identity", [last], ["y"], name="last"))
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 6])] for name in "xy"
    )
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    opsets = [helper.make_opsetid("", 18)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


@pytest.fixture
def codes(tmp_path):
    def found(weights, slope=0.1):
        paths = []
        for name, (stored, alpha) in {"r": (WEIGHTS, 0.1), "c": (weights, slope)}.items():
            path = tmp_path / f"{name}.onnx"
            saved(path, stored, alpha)
            paths.append(path)
        report = isomorph.check(*map(str, paths), in_process=True)
        assert report.verdict is isomorph.Verdict.DIVERGENT
        return report.findings

    return found


def test_most_weights_off_by_little_are_another_checkpoint(codes):
    (found,) = codes(noisy())
    assert (found.code, found.cause, found.status) == (CODE, "weight", "confirmed")
    assert (found.evidence["differing"], found.evidence["weights"]) == (5, 5)
    assert found.node is None
    assert "5 of 5 weights differ" in found.summary


@pytest.mark.parametrize(
    ("weights", "slope"),
    [
        (noisy("a"), 0.1),
        ({name: np.float32(np.float16(value)) for name, value in WEIGHTS.items()}, 0.5),
        ({name: value * np.float32([1, 2, 3, 4, 5, 6]) for name, value in WEIGHTS.items()}, 0.1),
        (WEIGHTS, 0.5),
    ],
    ids=["one weight", "rounded to float16", "scaled by channel", "an attribute"],
)
def test_other_differences_are_none(codes, weights, slope):
    assert CODE not in [each.code for each in codes(weights, slope)]
