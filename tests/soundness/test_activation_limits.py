"""A limit of an activation is found beside lower precision, whichever framework states it."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from tflite_building import Building

CHANNELS = (6, 12, 3)
GIVEN = {"x": np.random.default_rng(4).normal(size=(1, 6, 7, 7)).astype(np.float32)}
RELU, RELU6 = 1, 3


def _layers():
    """The kernels, outputs first, and the biases of two convolutions."""
    random = np.random.default_rng(5)
    shapes = [(CHANNELS[place + 1], 3, 3, CHANNELS[place]) for place in range(2)]
    return [
        ((0.08 * random.normal(size=shape)).astype(np.float32),
         (0.3 * random.normal(size=shape[0])).astype(np.float32))
        for shape in shapes
    ]  # fmt: skip


def _onnx(*, limit=None, half=False, spelled=False):
    """The network in ONNX; ``spelled``: the limit is the minimum of a ReLU and a number."""
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    stored = {}
    for place, (kernel, bias) in enumerate(_layers()):
        stored[f"w{place}"], stored[f"b{place}"] = kernel.transpose(0, 3, 1, 2), bias
    stored |= {"low": np.float32(0), "high": np.float32(limit or 0)}
    stored = {k: np.asarray(v, np.float16 if half else np.float32) for k, v in stored.items()}
    node = helper.make_node
    activation = [node("Relu", ["h0"], ["h"], "bent")]
    if limit is not None and spelled:
        activation = [
            node("Relu", ["h0"], ["h1"], "bent"), node("Min", ["h1", "high"], ["h"], "limited")
        ]  # fmt: skip
    elif limit is not None:
        activation = [node("Clip", ["h0", "low", "high"], ["h"], "bent")]
    convolutions = [
        node("Conv", ["x", "w0", "b0"], ["h0"], "first", pads=[1] * 4),
        node("Conv", ["h", "w1", "b1"], ["y"], "second", pads=[1] * 4),
    ]
    graph = helper.make_graph(
        [convolutions[0], *activation, convolutions[1]],
        "net",
        [helper.make_tensor_value_info("x", kind, [1, 6, 7, 7])],
        [helper.make_tensor_value_info("y", kind, [1, 3, 7, 7])],
        [numpy_helper.from_array(v, k) for k, v in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _tflite(folder, activation):
    """The same in TFLite, with weights of eight bits."""
    model = Building()
    graph = model.graph()
    data = [graph.tensor(name, (1, 7, 7, n)) for name, n in zip("xhy", CHANNELS, strict=True)]
    for place, (real, added) in enumerate(_layers()):
        scale = (np.abs(real).max(axis=(1, 2, 3)) / 127).astype(np.float32)
        integers = np.rint(real / scale[:, None, None, None]).astype(np.int8)
        kernel = graph.tensor(f"w{place}", real.shape, "int8", value=integers, scale=scale)
        bias = graph.tensor(f"b{place}", added.shape, value=added)
        graph.op(
            "CONV_2D", [data[place], kernel, bias], [data[place + 1]], "Conv2D", version=5,
            strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1,
            fusedActivationFunction=0 if place else activation,
        )  # fmt: skip
    graph.ends([data[0]], [data[-1]])
    path = folder / "candidate.tflite"
    path.write_bytes(model.data())
    return str(path)


@pytest.mark.parametrize(
    ("reference", "activation", "verdict"),
    [
        ({}, RELU, "degraded"),
        ({}, RELU6, "divergent"),
        ({"limit": 6.0}, RELU6, "degraded"),
        ({"limit": 6.0}, RELU, "divergent"),
        ({"limit": 6.0, "spelled": True}, RELU6, "degraded"),
        ({"limit": 6.0, "spelled": True}, RELU, "divergent"),
    ],
)
def test_a_limit_that_is_built_into_a_layer(tmp_path, reference, activation, verdict):
    candidate = _tflite(tmp_path, activation)
    report = isomorph.check(_onnx(**reference), candidate, inputs=GIVEN, in_process=True)
    assert report.verdict == verdict, report.reason
    if verdict == "divergent":
        assert report.findings[0].cause == "attribute"
        assert report.findings[0].node == "CONV_2D:0"


@pytest.mark.parametrize("limit", [None, 6.0, 4.0])
def test_a_limit_beside_float16(limit):
    narrow = _onnx(limit=limit, half=True)
    report = isomorph.check(_onnx(limit=6.0), narrow, inputs=GIVEN, in_process=True)
    assert report.verdict == ("degraded" if limit == 6.0 else "divergent"), report.reason
