"""A wrong scale of a weight is found though the clipping that it causes widens the loss."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

SHAPE = (2, 3, 8, 8)


class Samples:
    """What the ranges of the activations are fitted to."""

    def __init__(self):
        self._left = iter({"x": sample(seed)} for seed in range(5, 12))

    def get_next(self):
        return next(self._left, None)


def sample(seed):
    return np.random.default_rng(seed).normal(size=SHAPE).astype(np.float32)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A small network, and the same in int8."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    random = np.random.default_rng(0)

    def weight(*shape):
        terms = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return (random.normal(size=shape) / np.sqrt(terms)).astype(np.float32)

    stored = {
        "w0": weight(16, 3, 3, 3), "b0": weight(16),
        "w1": weight(16, 16, 3, 3), "b1": weight(16),
        "w2": weight(10, 16), "b2": weight(10),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["h0"], "first", pads=[1] * 4),
        helper.make_node("Relu", ["h0"], ["r0"], "rectified"),
        helper.make_node(
            "Conv", ["r0", "w1", "b1"], ["h1"], "second", pads=[1] * 4, strides=[2, 2]
        ),
        helper.make_node("Relu", ["h1"], ["r1"], "rectified again"),
        helper.make_node("GlobalAveragePool", ["r1"], ["g"], "mean"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], "scores", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    folder = tmp_path_factory.mktemp("scales")
    opset = helper.make_opsetid("", 20)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), folder / "net.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_static(
            str(folder / "net.onnx"),
            str(folder / "int8.onnx"),
            Samples(),
            quant_format=QuantFormat.QDQ,
            weight_type=QuantType.QInt8,
            activation_type=QuantType.QUInt8,
        )
    return onnx.load(folder / "net.onnx"), onnx.load(folder / "int8.onnx")


def scaled(model, name, factor):
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    (found,) = (each for each in changed.graph.initializer if each.name == name)
    value = numpy_helper.to_array(found) * np.float32(factor)
    found.CopyFrom(numpy_helper.from_array(value, name))
    return changed


@pytest.mark.parametrize("factor", [1.1, 1.25, 1.5, 2.0, 3.0])
@pytest.mark.parametrize(("scale", "node"), [("w0_scale", "first"), ("w1_scale", "second")])
def test_a_wrong_scale_is_found(pair, scale, node, factor):
    reference, candidate = pair
    changed = scaled(candidate, scale, factor)
    report = isomorph.check(reference, changed, inputs={"x": sample(5)}, in_process=True)
    assert report.verdict == "divergent"
    # Where products of bytes saturate, a node of the run is named as well.
    assert node in [found.node for found in report.findings]


def test_the_right_scales_are_a_loss(pair, saturates):
    reference, candidate = pair
    report = isomorph.check(reference, candidate, inputs={"x": sample(5)}, in_process=True)
    assert report.verdict in ({"degraded", "divergent"} if saturates else {"degraded"})
