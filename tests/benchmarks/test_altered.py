import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def source(tmp_path):
    """Three convolutions in a row; the second is the one in the middle."""
    import numpy as np

    rng, nodes, stored, wire = np.random.default_rng(0), [], [], "x"
    for place in range(3):
        values = {"w": rng.normal(size=(4, 4, 3, 3)), "b": rng.normal(size=4)}
        stored += [
            numpy_helper.from_array(value.astype(np.float32), f"{word}{place}")
            for word, value in values.items()
        ]
        inputs, wire = [wire, f"w{place}", f"b{place}"], f"t{place}"
        nodes.append(helper.make_node("Conv", inputs, [wire], f"conv{place}", pads=[1] * 4))
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 5, 5])
    result = helper.make_tensor_value_info(wire, TensorProto.FLOAT, [1, 4, 5, 5])
    path = tmp_path / "source.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [shape], [result], stored)), path)
    return path


def constants(path):
    return {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}


def test_exchanged_channels_are_those_of_one_convolution(source, tmp_path):
    from benchmarks.networks.altered import with_exchanged_channels

    target = tmp_path / "target.onnx"
    assert with_exchanged_channels(source, target) == "conv1"
    before, after = constants(source), constants(target)
    differ = {name for name in before if (before[name] != after[name]).any()}
    assert differ == {"w1", "b1"}
    for name in differ:
        assert (before[name][[1, 0, 2, 3]] == after[name]).all()


def test_one_weight_is_wrong(source, tmp_path):
    from benchmarks.networks.altered import with_wrong_weight

    target = tmp_path / "target.onnx"
    assert with_wrong_weight(source, target) == "conv1"
    before, after = constants(source), constants(target)
    assert sum(int((before[name] != after[name]).sum()) for name in before) == 1
    assert (before["w1"] != after["w1"]).sum() == 1
