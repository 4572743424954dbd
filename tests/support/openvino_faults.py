"""Faults planted in OpenVINO's files: one change of the .xml or the .bin of a conversion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry
from isomorph.core.patch import Patch, RemoveNode, SetAttribute, SetConstant, SetInput

ov = pytest.importorskip("openvino")
from openvino import opset15 as op  # noqa: E402

FRAMEWORK = registry.framework("openvino")


def float_pair(folder):
    """An ONNX model and its faithful conversion."""
    rng = np.random.default_rng(11)

    def weight(name, *shape, scale=0.4):
        return numpy_helper.from_array((scale * rng.normal(size=shape)).astype(np.float32), name)

    def whole(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "first", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "bend"),
        node("Conv", ["r1", "w2"], ["c2"], "second", pads=[1, 1, 1, 1], strides=[1, 1]),
        node("Elu", ["c2"], ["e"], "elu", alpha=0.7),
        node("AveragePool", ["e"], ["p"], "pool", kernel_shape=[3, 3], strides=[2, 2],
             pads=[1, 1, 1, 1], count_include_pad=0),
        node("Reshape", ["p", "flat"], ["f"], "flatten"),
        node("Transpose", ["f"], ["t"], "turn", perm=[0, 2, 1]),
        node("LayerNormalization", ["t", "g", "o"], ["n"], "norm", axis=-1, epsilon=1e-3),
        node("MatMul", ["n", "wm"], ["m"], "mix"),
        node("Softmax", ["m"], ["s"], "weigh", axis=-1),
        node("Sub", ["t", "s"], ["d"], "less"),
        node("MatMul", ["d", "wh"], ["h"], "head"),
        node("Tanh", ["h"], ["q"], "squash"),
        node("ReduceMean", ["q", "one"], ["y"], "mean", keepdims=0),
    ]  # fmt: skip
    stored = [
        weight("w1", 4, 3, 3, 3), weight("b1", 4), weight("w2", 4, 4, 3, 3),
        weight("g", 4, scale=1.0), weight("o", 4), weight("wm", 4, 4, scale=1.0),
        weight("wh", 4, 5, scale=0.8), whole("flat", 2, 4, 16), whole("one", 1),
    ]  # fmt: skip
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "net", [info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [info("y", TensorProto.FLOAT, [2, 5])], stored,
    )  # fmt: skip
    opset = [helper.make_opsetid("", 20)]
    reference, candidate = folder / "net.onnx", folder / "net.xml"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), reference)
    ov.save_model(ov.convert_model(reference), candidate, compress_to_fp16=False)
    return reference, candidate


def quantized_pair(folder):
    """Two products in OpenVINO's files, and the same with weights of 8 bits and a quantizer."""
    rng = np.random.default_rng(12)
    first, second = (rng.normal(size=s).astype(np.float32) for s in ((24, 16), (8, 24)))

    def build(path, *, narrow):
        x = op.parameter([32, 16], np.float32, name="x")
        value = x
        for name, weight in (("one", first), ("two", second)):
            stored = op.constant(weight)
            if narrow:
                scale = (np.abs(weight).max(axis=1, keepdims=True) / 127).astype(np.float32)
                whole = op.constant(np.rint(weight / scale).astype(np.int8))
                whole.friendly_name = f"{name}/stored"
                factor = op.constant(scale)
                factor.friendly_name = f"{name}/scale"
                stored = op.multiply(op.convert(whole, "f32"), factor)
                stored.friendly_name = f"{name}/weight"
            value = op.matmul(value, stored, False, True)
            value.friendly_name = name
            if name == "one":
                value = op.relu(value)
                value.friendly_name = "bend"
                if narrow:
                    ends = [op.constant(np.float32(each)) for each in (0.0, 16.0, 0.0, 16.0)]
                    value = op.fake_quantize(value, *ends, 256)
                    value.friendly_name = "grid"
        value.output(0).set_names({"y"})
        ov.save_model(ov.Model([value], [x], "two"), path, compress_to_fp16=False)
        return path

    wide = build(folder / "wide.xml", narrow=False)
    return wide, build(folder / "narrow.xml", narrow=True)


@dataclass(frozen=True)
class Fault:
    """A change, the layer that reads it or has it, and what a check should call its cause."""

    name: str
    pair: str
    node: str
    cause: str
    plant: object
    """Edits of the faithful model."""


def node_of(model, *ops):
    return next(each for each in model.graph.nodes if each.op in ops)


def named(model, name):
    return next(each for each in model.graph.nodes if each.name == name)


def stored(model, name):
    from isomorph.frameworks.openvino.weights import array_of

    return np.array(array_of(model.native, model.native.graph.stored[name]))


def product(model, place):
    """The weight of a convolution or product, by its place among them."""
    nodes = [each for each in model.graph.nodes if each.op in {"Conv", "MatMul"}]
    return nodes[place], next(name for name in nodes[place].inputs if name in model.graph.constants)


def attribute(op_name, name, value):
    return lambda model: [SetAttribute(node=node_of(model, op_name).name, name=name, value=value)]


def transposed(place):
    def edits(model):
        _, name = product(model, place)
        value = stored(model, name)
        return [SetConstant(tensor=name, value=np.ascontiguousarray(value.swapaxes(-1, -2)))]

    return edits


def one_weight(place):
    def edits(model):
        _, name = product(model, place)
        value = stored(model, name)
        value.reshape(-1)[3] *= -1
        return [SetConstant(tensor=name, value=value)]

    return edits


def without(op_name):
    return lambda model: [RemoveNode(node=node_of(model, op_name).name)]


def exchanged(model):
    node = node_of(model, "Sub")
    a, b = node.inputs
    return [
        SetInput(node=node.name, index=0, tensor=b),
        SetInput(node=node.name, index=1, tensor=a),
    ]


def times(name, factor, at=None):
    def edits(model):
        value = stored(model, name)
        value[at if at is not None else ...] *= np.asarray(factor, value.dtype)
        return [SetConstant(tensor=name, value=value)]

    return edits


def range_of(factor):
    def edits(model):
        node = named(model, "grid")
        return [
            SetConstant(tensor=name, value=stored(model, name) * np.float32(factor))
            for name in (node.inputs[2], node.inputs[4])
        ]

    return edits


FAULTS = (
    Fault("epsilon", "float", "MVN", "attribute",
          attribute("MeanVarianceNormalization", "epsilon", 1e-1)),
    Fault("pads", "float", "Convolution", "attribute",
          lambda m: [SetAttribute(node=product(m, 1)[0].name, name="pads", value=(2, 0, 0, 2))]),
    Fault("padding counted", "float", "AvgPool", "attribute",
          attribute("AveragePool", "count_include_pad", 1)),
    Fault("alpha", "float", "Elu", "attribute", attribute("Elu", "alpha", 1.0)),
    Fault("axis", "float", "SoftMax", "attribute", attribute("Softmax", "axis", 1)),
    Fault("transposed weight of a convolution", "float", "Convolution", "layout", transposed(1)),
    Fault("transposed weight of a product", "float", "MatMul", "layout", transposed(2)),
    Fault("a weight with the wrong sign", "float", "MatMul", "weight", one_weight(3)),
    Fault("order of inputs", "float", "Subtract", "layout", exchanged),
    Fault("activation missing", "float", "Convolution", "missing_op", without("Relu")),
    Fault("last activation missing", "float", "ReduceMean", "missing_op", without("Tanh")),
    Fault("range cut off", "quantized", "FakeQuantize", "quantization", range_of(0.2)),
    Fault("range too wide", "quantized", "FakeQuantize", "quantization", range_of(20)),
    Fault("scale of a channel", "quantized", "MatMul", "weight", times("two/scale", 2.0, at=(3,))),
    Fault("all scales", "quantized", "MatMul", "quantization", times("one/scale", 0.5)),
)  # fmt: skip


def planted(fault, folder):
    """The reference, and the candidate with the fault."""
    reference, faithful = (float_pair if fault.pair == "float" else quantized_pair)(folder)
    model = FRAMEWORK.load(faithful, {})
    path = folder / "faulty.xml"
    FRAMEWORK.apply(model, Patch(summary=fault.name, edits=tuple(fault.plant(model))), path)
    return reference, path
