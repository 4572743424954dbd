"""Given inputs have one size; a size that is frozen in a constant shows at another."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

WEIGHTS = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
GIVEN = np.random.default_rng(1).normal(size=(2, 3, 12)).astype(np.float32)


def model(nodes, constants, shape=("N", "T", 12), output=("N", "T", 5)):
    graph = helper.make_graph(
        [helper.make_node(op, i.split(), [o], name=f"make_{o}", **a) for op, i, o, a in nodes],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def reshaped(sizes, **shapes):
    nodes = [("MatMul", "x w", "h", {}), ("Reshape", "h s", "r", {}), ("Tanh", "r", "y", {})]
    return model(nodes, {"w": WEIGHTS, "s": np.array(sizes)}, **shapes)


def averaged(*, frozen):
    """The mean over an axis whose length may be a literal."""
    sized = [("Shape", "x", "n", {}), ("Gather", "n one", "t", {}), ("Cast", "t", "d", {"to": 1})]
    nodes = [("ReduceSum", "x axes", "s", {"keepdims": 0}), *([] if frozen else sized)]
    constants = {"axes": np.array([1]), "one": np.array(1), "d": np.float32(3)}
    if not frozen:
        del constants["d"]
    return model([*nodes, ("Div", "s d", "y", {})], constants, output=("N", 12))


PAIRS = {
    "batch": (reshaped([0, 0, 5]), reshaped([2, -1, 5]), "N=1", "make_r"),
    "both": (reshaped([0, 0, 5]), reshaped([2, 3, 5]), "N=1", "make_r"),
    "length": (reshaped([0, 0, 5]), reshaped([-1, 3, 5]), "T=6", "make_y"),
    "divisor": (averaged(frozen=False), averaged(frozen=True), "T=6", "make_y"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_frozen_size_is_found_beside_given_inputs(name):
    reference, candidate, sizes, node = PAIRS[name]
    report = isomorph.check(reference, candidate, inputs={"x": GIVEN}, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert sizes in report.reason
    found = next(each for each in report.findings if each.code == "SHAPE_DEPENDENT")
    assert (found.node, found.effect) == (node, "latent")
    assert found.evidence["inputs"]["x"]["shape"] != list(GIVEN.shape)


@pytest.mark.parametrize("name", PAIRS)
def test_the_question_about_given_inputs_alone_has_their_size(name):
    reference, candidate, _, _ = PAIRS[name]
    report = isomorph.check(
        reference, candidate, inputs={"x": GIVEN}, only_given=True, in_process=True
    )
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_a_frozen_size_is_found_beside_a_test_set(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.resize(GIVEN, (6, 3, 12)))
    reference, candidate, _, _ = PAIRS["length"]
    report = isomorph.check(reference, candidate, data=str(tmp_path / "data.npz"), in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert "T=6" in report.reason


@pytest.mark.parametrize(
    "candidate",
    [
        reshaped([0, -1, 5]),
        reshaped([2, 3, 5], shape=(2, 3, 12), output=(2, 3, 5)),
    ],
    ids=["inferred", "declared"],
)
def test_sizes_that_follow_the_input_or_are_declared_are_no_fault(candidate):
    report = isomorph.check(reshaped([0, 0, 5]), candidate, inputs={"x": GIVEN}, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_sizes_that_the_reference_refuses_prove_nothing():
    """Both models need three steps, whatever their axes declare."""
    onnx.checker.check_model(reshaped([-1, 3, 5]))
    frozen = reshaped([2, 3, 5])
    report = isomorph.check(frozen, reshaped([2, -1, 5]), inputs={"x": GIVEN}, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
