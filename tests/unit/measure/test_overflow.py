"""A float16 tensor that a run in float32 holds, and its type does not."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

ENDS = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]


@pytest.fixture
def codes(tmp_path):
    """Writes a model that computes in float16 between two casts, and checks it alone."""

    def checked(*nodes, x=(0.5, -0.25, 2.0, 1.5), **constants):
        graph = helper.make_graph(
            [
                helper.make_node("Cast", ["x"], ["half"], "narrow", to=TensorProto.FLOAT16),
                *nodes,
                helper.make_node("Cast", ["out"], ["y"], "widen", to=TensorProto.FLOAT),
            ],
            "g", ENDS[:1], ENDS[1:],
            [numpy_helper.from_array(np.float16(value), name) for name, value in constants.items()],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 18)]
        path = tmp_path / "half.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
        given = {"x": np.array([x], np.float32)}
        report = isomorph.check(path, inputs=given, in_process=True)
        return {finding.code: finding for finding in report.findings}, report.exit_code

    return checked


SCALED = (
    helper.make_node("Mul", ["half", "k"], ["big"], "scale"),
    helper.make_node("Div", ["big", "k"], ["out"], "back"),
)


def test_what_exceeds_the_type_is_reported_at_its_node(codes):
    found, code = codes(*SCALED, k=60000.0)
    assert (found["OVERFLOW_HIDDEN"].node, found["OVERFLOW_HIDDEN"].effect) == ("scale", "latent")
    assert code == 0, "this run was right"


def test_what_fits_is_not_reported(codes):
    found, _ = codes(*SCALED, k=1000.0)
    assert "OVERFLOW_HIDDEN" not in found


def test_what_a_mask_puts_out_may_overflow(codes):
    """exp(−65604 − …) is 0, and so is exp(−∞)."""
    masked = (
        helper.make_node("Where", ["keep", "half", "floor"], ["scores"], "mask"),
        helper.make_node("Sub", ["scores", "shift"], ["lower"], "shifted"),
        helper.make_node("Softmax", ["lower"], ["out"], "softmax", axis=-1),
    )
    keep = helper.make_node(
        "Constant", [], ["keep"], "kept",
        value=numpy_helper.from_array(np.array([[True, False, True, True]])),
    )  # fmt: skip
    found, _ = codes(keep, *masked, floor=-65504.0, shift=100.0)
    assert "OVERFLOW_HIDDEN" not in found
