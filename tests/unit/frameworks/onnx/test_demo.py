"""The models of the demo: folded by ONNX Runtime, one of them with another epsilon."""

import numpy as np
import onnx
from onnx import numpy_helper

from isomorph.frameworks.onnx.demo import write_demo


def test_the_two_conversions_differ_in_the_folded_constants_of_one_convolution(tmp_path):
    files = write_demo(tmp_path)
    right, wrong = onnx.load(files.faithful), onnx.load(files.altered)
    assert [(node.op_type, *node.input) for node in right.graph.node] == [
        (node.op_type, *node.input) for node in wrong.graph.node
    ]
    assert not [node for node in right.graph.node if node.op_type == "BatchNormalization"]
    values = [
        {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        for model in (right, wrong)
    ]
    changed = [
        name for name, held in values[0].items() if not np.array_equal(held, values[1][name])
    ]
    assert changed
    assert all("block3.first" in name for name in changed)
    assert files.node == "block3.first_norm"
    assert "block3.first_norm" in files.change


def test_the_reference_is_the_same_each_time(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        write_demo(tmp_path / name)
    first, second = ((tmp_path / name / "network.onnx").read_bytes() for name in "ab")
    assert first == second
