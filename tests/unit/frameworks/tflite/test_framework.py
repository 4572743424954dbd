"""TFLite models as a user meets them: loaded, described, saved."""

import numpy as np
import pytest

from isomorph.core.errors import IsomorphError, RefusedError, UnreadableModelError
from isomorph.frameworks.tflite.framework import TfliteFramework
from tflite_building import Building, small

FRAMEWORK = TfliteFramework()


def load(source):
    return FRAMEWORK.load(source, {})


def test_names_operators_and_sources_of_a_converted_network(converted):
    graph = load(str(converted / "cnn.tflite")).graph
    assert [node.name for node in graph.nodes] == [
        "CONV_2D:0", "CONV_2D:1", "LOGISTIC:2", "DEPTHWISE_CONV_2D:3", "MEAN:4",
        "FULLY_CONNECTED:5", "SOFTMAX:6",
    ]  # fmt: skip
    assert [node.op for node in graph.nodes] == [
        "Conv", "Conv", "Sigmoid", "Conv", "ReduceMean", "Gemm", "Softmax",
    ]  # fmt: skip
    first = graph.nodes[0]
    assert first.attributes["fused_activation_function"] == "RELU6"
    assert first.attributes["padding"] == "SAME"
    assert first.source.module.endswith("stem_1")
    assert graph.nodes[5].inputs[2] == "", "no bias was trained"


def test_inputs_and_outputs_have_the_signatures_names(converted):
    model = load(str(converted / "cnn.tflite"))
    (image,), (output,) = model.graph.inputs, model.graph.outputs
    assert (image.name, image.dtype, image.shape) == ("image", "float32", (None, 12, 12, 3))
    assert (output.name, output.shape) == ("output_0", (None, 5))
    assert model.metadata["signature"] == "serving_default"
    assert model.metadata["input image"] == "serving_default_image:0"
    assert model.metadata["min_runtime_version"]
    assert model.producer == "MLIR Converted."


def test_every_quantized_tensor_is_described_with_its_axis(converted):
    graph = load(str(converted / "int8.tflite")).graph
    by_tensor = {each.tensor: each for each in graph.quantization}
    image = by_tensor["image"]
    assert (image.dtype, len(image.scale), image.axis) == ("int8", 1, None)
    kernel = by_tensor[graph.nodes[0].inputs[1]]
    assert (len(kernel.scale), set(kernel.zero_point), kernel.axis) == (16, {0}, 0)
    depthwise = by_tensor[graph.nodes[3].inputs[1]]
    assert depthwise.axis == 3
    assert all(name in by_tensor for node in graph.nodes for name in node.outputs)


def test_only_weights_are_quantized_in_dynamic_range_and_stored_small_in_float16(converted):
    dynamic = load(str(converted / "dynamic.tflite")).graph
    assert {each.tensor for each in dynamic.quantization} <= set(dynamic.constants)
    assert any(constant.dtype == "int8" for constant in dynamic.constants.values())
    half = load(str(converted / "float16.tflite")).graph
    assert {node.op for node in half.nodes} >= {"DequantizeLinear", "Conv"}
    assert any(constant.dtype == "float16" for constant in half.constants.values())


def test_bodies_of_loops_and_branches_are_described_inside_their_node(converted):
    model = load(str(converted / "branches.tflite"))
    nodes = {node.op: node for node in model.graph.nodes}
    assert set(nodes["If"].bodies) == {"then", "else"}
    assert [node.op for node in nodes["If"].bodies["then"].nodes] == ["Exp"]
    body = nodes["Loop"].bodies["body"]
    assert body.nodes[0].name == f"{nodes['Loop'].name}/body#0/ADD:0"
    assert body.constants
    assert "body_subgraph_index" not in nodes["Loop"].attributes


def test_an_output_that_is_an_input_is_an_output_under_its_own_name(converted):
    model = load(str(converted / "branches.tflite"))
    assert {spec.name for spec in model.graph.outputs} == {"same", "result"}
    assert any("'same' is the same tensor as 'x'" in note for note in model.notes)


def test_a_variable_is_a_handle_without_element_type(converted):
    graph = load(str(converted / "counter.tflite")).graph
    handle = graph.tensors["total"]
    assert (handle.kind, handle.dtype) == ("resource", None)
    assert [n.op for n in graph.nodes if "total" in n.inputs] == [
        "ReadVariable", "AssignVariable", "ReadVariable",
    ]  # fmt: skip


def stateful():
    model = Building()
    graph = model.graph()
    x = graph.tensor("x", (1, 3))
    feature, time = (
        graph.tensor("f", (2, 3), value=np.ones(6)),
        graph.tensor("t", (2, 4), value=np.ones(8)),
    )
    state = graph.tensor("state", (1, 8), variable=True)
    y = graph.tensor("y", (1, 2))
    graph.op("SVDF", [x, feature, time, -1, state], [y], "SVDF", rank=1)
    return graph.ends([x], [y]).model


def test_state_begins_at_zero_and_that_is_reported():
    model = load(stateful().data())
    constant = model.graph.constants["state"]
    assert (constant.shape, constant.values) == ((1, 8), (0.0,) * 8)
    assert any("begin every run at zero" in note for note in model.notes)


def test_further_signatures_are_reported():
    model = small()
    model.signature("encode", {"a": 0}, {"b": 11})
    model.signature("decode", {"c": 0}, {"d": 11})
    (note,) = load(model.data()).notes
    assert "decode" in note
    assert "'encode'" in note


def test_two_constants_in_one_buffer_have_one_digest():
    model = small()
    graph = model.made.subgraphs[0]
    graph.tensors[9].buffer = model.buffer(np.ones(20, np.float32).tobytes())
    model.made.buffers[graph.tensors[10].buffer].data = np.ones(20, np.uint8)
    constants = load(model.data()).graph.constants
    assert constants["head/kernel"].digest != constants["head/bias"].digest
    assert constants["head/bias"].shape == (5,)


def test_bytes_are_claimed_handed_over_and_loaded_alike(tmp_path):
    data = small().data()
    assert FRAMEWORK.claims(data)
    assert not FRAMEWORK.claims(b"\x08\x07 something else")
    assert not FRAMEWORK.claims("model.tflite")
    path = FRAMEWORK.hand_over(data, {}, tmp_path)
    assert path.read_bytes() == data
    live, file = load(data), load(path)
    assert live.graph == file.graph
    assert live.digest == file.digest
    assert (live.location, file.location) == ("bytes in memory", str(path))


def test_save_is_byte_for_byte_and_never_over_the_model(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(small().data())
    model = load(path)
    FRAMEWORK.save(model, tmp_path / "copy.tflite")
    assert (tmp_path / "copy.tflite").read_bytes() == path.read_bytes()
    with pytest.raises(RefusedError) as caught:
        FRAMEWORK.save(model, path)
    assert caught.value.code == "OUTPUT_IS_INPUT"
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IsomorphError, match="symbolic link"):
        FRAMEWORK.save(model, tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: None, "FILE_NOT_FOUND"),
        (lambda path: path.touch(), "MODEL_EMPTY"),
        (lambda path: path.mkdir(), "NOT_REGULAR_FILE"),
        (lambda path: path.symlink_to(path), "PATH_LOOP"),
        (lambda path: path.write_bytes(b"no model at all"), "NOT_A_MODEL"),
        (lambda path: path.write_bytes(b"\x1c\0\0\0TFL3"), "MODEL_TRUNCATED"),
    ],
)
def test_what_cannot_be_read_is_called_what_it_is(tmp_path, make, code):
    path = tmp_path / "m.tflite"
    make(path)
    with pytest.raises(UnreadableModelError) as caught:
        load(path)
    assert caught.value.code == code
