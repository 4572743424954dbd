"""What an optimizer joined wrongly is taken apart again, as the reference has it."""

import numpy as np
import onnx
import pytest
from onnx import helper

from isomorph import api
from onnx_pairs import check, model, node

RNG = np.random.default_rng(5)
SHAPES = {"x": [2, 4, 4]}, {"y": [2, 4, 4]}
X = RNG.normal(size=(2, 4, 4)).astype(np.float32)
WEIGHTS = {
    "w": RNG.normal(size=(4, 4)).astype(np.float32),
    "scale": RNG.normal(size=4).astype(np.float32),
    "bias": RNG.normal(size=4).astype(np.float32),
}


def normalized(*, joined):
    """The fourth power where an optimizer saw a variance."""
    weights = dict(WEIGHTS)
    if joined:
        parts = [node("LayerNormalization", "t scale bias", "n", axis=-1)]
    else:
        weights |= {"last": np.array([-1]), "four": np.float32(4), "eps": np.float32(1e-5)}
        parts = [
            node("ReduceMean", "t last", "m"), node("Sub", "t m", "d"), node("Pow", "d four", "p"),
            node("ReduceMean", "p last", "v"), node("Add", "v eps", "e"), node("Sqrt", "e", "s"),
            node("Div", "d s", "q"), node("Mul", "q scale", "k"), node("Add", "k bias", "n"),
        ]  # fmt: skip
    return model([node("Tanh", "x", "t"), *parts, node("MatMul", "n w", "y")], *SHAPES, weights)


def padded(*, joined):
    """Zeros at the border of what is below zero: no pool pads with them by itself."""
    window = {"kernel_shape": [3], "strides": [1]}
    if joined:
        parts, weights = [node("MaxPool", "n", "p", pads=[1, 1], **window)], {}
    else:
        weights = {"pads": np.array([0, 0, 1, 0, 0, 1]), "zero": np.float32(0)}
        parts = [node("Pad", "n pads zero", "q"), node("MaxPool", "q", "p", **window)]
    ends = [node("Softplus", "x", "t"), node("Neg", "t", "n")], [node("Tanh", "p", "y")]
    return model([*ends[0], *parts, *ends[1]], *SHAPES, weights)


def scaled(*, joined):
    """A product with another factor than was worked in."""
    weights = {"w": WEIGHTS["w"], **({} if joined else {"half": np.float32(0.5)})}
    fused = helper.make_node(
        "FusedMatMul", ["t", "w"], ["f"], name="FusedMatMul_f", domain="com.microsoft", alpha=0.25
    )
    parts = [fused] if joined else [node("MatMul", "t w", "k"), node("Mul", "k half", "f")]
    made = model([node("Tanh", "x", "t"), *parts, node("Softmax", "f", "y")], *SHAPES, weights)
    if joined:
        made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


PAIRS = {"power": (normalized, "n"), "border": (padded, "p"), "factor": (scaled, "f")}


@pytest.mark.parametrize(("build", "tensor"), PAIRS.values(), ids=PAIRS)
def test_a_wrong_fusion_is_named_and_undone(tmp_path, build, tensor):
    report = check(tmp_path, build(joined=False), build(joined=True), inputs={"x": X})
    first = report.findings[0]
    assert (first.cause, first.tensors[0]) == ("fusion", tensor)
    assert "with the reference's" in first.fix, "what is advised was tried"
    paths = tmp_path / "reference.onnx", tmp_path / "candidate.onnx"
    repair = api.fix(*paths, output=tmp_path / "f.onnx", inputs={"x": X}, in_process=True)
    assert repair.repaired
    ops = [each.op_type for each in onnx.load(tmp_path / "f.onnx").graph.node]
    assert ops == [each.op_type for each in build(joined=False).graph.node]


def test_advice_that_spoils_the_shape_is_not_given(tmp_path):
    report = check(tmp_path, padded(joined=False), padded(joined=True), inputs={"x": X})
    assert "set pads" not in str(report.findings[0].fix)
    assert "pads is" not in report.findings[0].summary


def test_a_wrong_shape_that_the_file_declares_is_declared_anew(tmp_path):
    def cut(sizes, declared):
        nodes = [node("Tanh", "x", "t"), node("Reshape", "t s", "r"), node("Softmax", "r", "y")]
        return model(nodes, {"x": [2, 4, 4]}, {"y": declared}, {"s": np.array(sizes)})

    sides = cut([4, 8], [4, 8]), cut([2, 16], [2, 16])
    check(tmp_path, *sides, inputs={"x": X}, options=api.CheckOptions(locate=False))
    paths = tmp_path / "reference.onnx", tmp_path / "candidate.onnx"
    assert api.fix(*paths, output=tmp_path / "f.onnx", inputs={"x": X}, in_process=True).repaired
    dims = onnx.load(tmp_path / "f.onnx").graph.output[0].type.tensor_type.shape.dim
    assert [each.dim_value for each in dims] == [4, 8]
