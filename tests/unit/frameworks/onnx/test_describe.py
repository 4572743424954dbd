"""The neutral description has all that the file and its opset state."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from isomorph.core.model import Source
from isomorph.frameworks.onnx.framework import OnnxFramework

HEAD = '<ir_version: 9, opset_import: ["" : 17]>'


def loaded(text, head=HEAD):
    return OnnxFramework().load(onnx.parser.parse_model(f"{head} {text}"), {})


def only(graph, op):
    (node,) = [node for node in graph.nodes if node.op == op]
    return node


def test_defaults_of_the_opset_are_filled_in():
    text = (
        "g (float[1,2,4,4] x, float[2] s) => (float[1,2,4,4] y) {y = BatchNormalization(x,s,s,s,s)}"
    )
    node = loaded(text).graph.nodes[0]
    assert node.attributes["epsilon"] == pytest.approx(1e-5)
    assert node.attributes["training_mode"] == 0
    old = loaded(text, '<ir_version: 4, opset_import: ["" : 9]>').graph.nodes[0]
    assert "training_mode" not in old.attributes


def test_softmax_means_another_axis_before_opset_13():
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }"
    assert loaded(text).graph.nodes[0].attributes["axis"] == -1
    old = loaded(text, '<ir_version: 4, opset_import: ["" : 11]>')
    assert old.graph.nodes[0].attributes["axis"] == 1


def test_what_the_file_states_wins_over_the_default():
    node = loaded(
        "g (float[2,3] x) => (float[2,3] y) {y = LeakyRelu <alpha = 0.5> (x)}"
    ).graph.nodes[0]
    assert node.attributes["alpha"] == 0.5


def test_shapes_and_types_are_inferred_with_named_axes():
    graph = loaded(
        'g (float["batch",4] x) => (y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}>'
        "{ a = MatMul(x, w) b = Shape(a) y = Relu(a) }"
    ).graph
    assert graph.tensors["a"].dtype == "float32"
    assert graph.tensors["a"].shape == ("batch", 3)
    assert (graph.tensors["b"].dtype, graph.tensors["b"].shape) == ("int64", (2,))
    assert graph.outputs[0].shape == ("batch", 3)
    assert [spec.name for spec in graph.inputs] == ["x"]
    assert graph.tensors["w"].shape == (4, 3)


@pytest.mark.parametrize("output", ["int64[2,3] y", "float[5,5,5] y"])
def test_a_wrong_declared_output_is_a_note_and_not_the_end(output):
    model = loaded(f"g (float[2,3] x) => ({output}) {{ a = Abs(x) y = Relu(a) }}")
    assert any("contradiction" in note for note in model.notes)
    assert model.graph.tensors["a"].shape == (2, 3)


def test_unnamed_nodes_are_called_by_operator_and_output():
    graph = loaded("g (float[2] x) => (float[2] y) { a = Relu(x) [last] y = Relu(a) }").graph
    assert [node.name for node in graph.nodes] == ["Relu@a", "last"]


def test_nodes_of_one_name_are_distinguished_and_noted():
    model = loaded(
        "g (float[2] x) => (float[2] y) { [n] a = Relu(x) [n] b = Abs(a) [Relu_a] y = Neg(b) }"
    )
    assert [node.name for node in model.graph.nodes] == ["Relu@a", "Abs@b", "Relu_a"]
    assert any("more than once (n)" in note for note in model.notes)


def test_a_name_that_looks_like_ours_does_not_collide():
    proto = onnx.parser.parse_model(
        f"{HEAD} g (float[2] x) => (float[2] y) {{a = Relu(x) y = Neg(a)}}"
    )
    proto.graph.node[1].name = "Relu@a"
    names = [node.name for node in OnnxFramework().load(proto, {}).graph.nodes]
    assert names[1] == "Relu@a"
    assert len(set(names)) == 2


def test_unsorted_nodes_are_sorted_and_noted():
    model = loaded("g (float[2] x) => (float[2] y) { y = Relu(a) a = Abs(x) }")
    assert [node.op for node in model.graph.nodes] == ["Abs", "Relu"]
    assert any("topological order" in note for note in model.notes)


def test_bodies_are_graphs_with_names_below_their_node():
    graph = loaded(
        "g (float[2] x, bool c) => (float[2] y) { h = Neg(x) [pick] y = If (c) <"
        "then_branch = t () => (float[2] p) { [inner] p = Relu(h) },"
        "else_branch = e () => (float[2] q) {"
        "  k = Constant <value = float[2] {3, 4}> () q = Add(x, k) }> }"
    ).graph
    node = only(graph, "If")
    assert sorted(node.bodies) == ["else_branch", "then_branch"]
    then, other = node.bodies["then_branch"], node.bodies["else_branch"]
    assert then.nodes[0].name == "pick/then_branch#0/inner"
    assert then.nodes[0].inputs == ("h",)
    assert other.nodes[1].name == "pick/else_branch#0/Add@q"
    assert other.constants["k"].values == (3.0, 4.0)
    assert "then_branch" not in node.attributes


@pytest.mark.parametrize(
    ("attribute", "dtype", "shape", "values"),
    [
        ("value = float[2] {1, 2}", "float32", (2,), (1.0, 2.0)),
        ("value_float = 0.5", "float32", (), (0.5,)),
        ("value_ints = [1, 2]", "int64", (2,), (1, 2)),
        ('value_string = "a"', "string", (), ("a",)),
    ],
)
def test_constant_nodes_are_nodes_and_constants(attribute, dtype, shape, values):
    graph = loaded(
        f"g (float[2] x) => (float[2] y) {{ k = Constant <{attribute}> () y = Relu(x) }}"
    ).graph
    assert graph.nodes[0].op == "Constant"
    found = graph.constants["k"]
    assert (found.dtype, found.shape, found.values) == (dtype, shape, values)
    assert graph.tensors["k"].dtype == dtype


def test_tensors_in_attributes_keep_type_and_values():
    node = loaded(
        "g (int64[1] n) => (y) { y = ConstantOfShape <value = int32[1] {7}> (n) }"
    ).graph.nodes[0]
    assert node.attributes["value"] == {"dtype": "int32", "shape": (1,), "values": (7,)}


def test_quantization_is_read_off_the_quantizers():
    proto = onnx.parser.parse_model(
        f"{HEAD} g (float[1,2,3] x) => (float[1,2,3] y)"
        "<float s = {0.5}, uint8 z = {3}, float[2] t = {0.1, 0.2}>"
        "{ q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)"
        "  y = DequantizeLinear <axis = -2> (w, t) }"
    )
    weight = np.array([[[1, 2, 3], [4, 5, 6]]], np.int8)
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    found = {q.tensor: q for q in OnnxFramework().load(proto, {}).graph.quantization}
    assert (found["q"].dtype, found["q"].scale, found["q"].zero_point) == ("uint8", (0.5,), (3,))
    assert found["q"].axis is None
    assert found["w"].axis == 1
    assert found["w"].dtype == "int8"
    assert found["w"].zero_point == (0, 0)
    assert found["w"].scale == pytest.approx((0.1, 0.2))


def test_a_reader_that_disagrees_has_an_entry_behind_its_writers():
    found = loaded(
        "g (float[4] x) => (float[4] y) <float s = {0.5}, float t = {0.25}, uint8 z = {3}>"
        "{ q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z)"
        "  y = DequantizeLinear(q, t, z) }"
    ).graph.quantization
    assert [(each.tensor, each.scale) for each in found] == [("q", (0.5,)), ("q", (0.25,))]


def test_the_scale_of_an_integer_product_is_found_behind_it():
    proto = onnx.parser.parse_model(
        f"{HEAD} g (float[2,3] x) => (float[2,4] y)"
        "{ q, s, z = DynamicQuantizeLinear(x) m = MatMulInteger(q, w, z, wz)"
        "  f = Cast <to = 1> (m) k = Mul(s, ws) y = Mul(f, k) }"
    )
    for name, value in (("w", np.ones((3, 4), np.int8)), ("wz", np.zeros((), np.int8)),
                        ("ws", np.array([1, 2, 3, 4], np.float32))):  # fmt: skip
        proto.graph.initializer.append(numpy_helper.from_array(value, name))
    (found,) = OnnxFramework().load(proto, {}).graph.quantization
    assert (found.tensor, found.dtype, found.axis) == ("w", "int8", 1)
    assert found.scale == (1.0, 2.0, 3.0, 4.0)
    assert found.zero_point == (0, 0, 0, 0)


def test_types_go_through_operators_of_onnxruntime():
    model = loaded(
        "g (float[1,2,4,4] x, float[2,2,3,3] w) => (y) {"
        'a = com.microsoft.FusedConv <activation = "Relu"> (x, w) y = Relu(a) }',
        '<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>',
    )
    node = model.graph.nodes[0]
    assert (node.op, node.native_op) == ("FusedConv", "com.microsoft::FusedConv")
    assert node.attributes["group"] == 1
    assert model.graph.tensors["a"].dtype == "float32"
    assert model.graph.tensors["y"].dtype == "float32"


def named(name, producer="pytorch", **metadata):
    proto = onnx.parser.parse_model(f"{HEAD} g (float[2] x) => (float[2] y) {{ y = Relu(x) }}")
    proto.producer_name = producer
    proto.graph.node[0].name = name
    for key, value in metadata.items():
        proto.graph.node[0].metadata_props.add(key=key.replace("__", "."), value=value)
    return OnnxFramework().load(proto, {}).graph.nodes[0].source


def test_source_from_the_dynamo_exporter():
    trace = (
        'File "/project/net.py", line 12, in forward\n    y = self.act(x)\n'
        '  File "/v/site-packages/torch/nn/relu.py", line 9, in forward\n    return f(x)'
    )
    found = named(
        "node_relu",
        pkg__torch__onnx__name_scopes="['', 'block.1', 'block.1.act', 'relu']",
        pkg__torch__onnx__stack_trace=trace,
    )
    assert found == Source(
        module="block.1.act", file="/project/net.py", line=12, text="y = self.act(x)"
    )


def test_source_from_a_namespace_alone():
    found = named("n", namespace=": Net/blocks.1: Block/blocks.1.n1: LayerNorm/call: aten.relu")
    assert found == Source(module="blocks.1.n1")


@pytest.mark.parametrize(
    ("name", "producer", "module"),
    [
        ("/c1/Conv", "pytorch", "c1"),
        ("/layer1/layer1.0/conv1/Conv", "pytorch", "layer1.0.conv1"),
        ("/blocks.1/n1/LayerNormalization", "pytorch", "blocks.1.n1"),
        ("net/conv_a/Relu", "tf2onnx", "net/conv_a"),
        ("net/conv_a/Relu", "someone", None),
        ("/Relu", "pytorch", None),
        ("relu_1", "pytorch", None),
    ],
)
def test_source_from_names(name, producer, module):
    found = named(name, producer)
    assert (found.module if found is not None else None) == module


def test_hostile_metadata_is_only_text():
    deep = "[" * 10_000
    assert named("n", pkg__torch__onnx__name_scopes=deep) is None
    assert named("n", pkg__torch__onnx__name_scopes="__import__('os')") is None
