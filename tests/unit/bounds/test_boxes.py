import numpy as np
import onnx
from onnx import TensorProto, helper

import isomorph
from isomorph.core.ranges import OpenReason


def test_splitting_a_range_proves_what_the_whole_does_not(tmp_path):
    # x·(1 − x) is at most 1/4; as intervals of the whole range, 0…1 times 0…1.
    nodes = [
        helper.make_node("Sub", ["one", "x"], ["rest"]),
        helper.make_node("Mul", ["x", "rest"], ["product"]),
        helper.make_node("Mul", ["product", "factor"], ["z"]),
        helper.make_node("Add", ["z", "tiny"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in ("x", "y")]
    stored = [
        helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]),
        helper.make_tensor("factor", TensorProto.FLOAT, [1], [2e5]),
        helper.make_tensor("tiny", TensorProto.FLOAT, [1], [1e-12]),
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    found = isomorph.ranges(
        tmp_path / "m.onnx", ranges={"x": (0.0, 1.0)}, to="float16", in_process=True
    )
    last = found.tensors[4]
    assert found.boxes > 1
    # The constant itself does not fit, so that a run has an infinity in its place.
    assert (last.name, last.reason) == ("y", OpenReason.BEHIND_OVERFLOW)
    assert 5e4 < last.upper < 65504
    assert [each.name for each in found.tensors if each.status == "overflow"] == ["factor"]
    assert found.exit_code == 1
    assert found.notes == ("constant 'tiny': 1 of 1 numbers become 0 in float16",)
    assert np.isclose(last.measured_upper, 5e4, rtol=0.05)
