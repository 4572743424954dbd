"""The neutral description: operators, attributes, bodies, quantization, sources."""

import numpy as np
import pytest

from tf_building import binary, constant, graph, image, network, placeholder, tensorflow, unary

tf = tensorflow()

from isomorph.frameworks.tensorflow.callables import from_function, from_keras  # noqa: E402
from isomorph.frameworks.tensorflow.describe import describe  # noqa: E402
from isomorph.frameworks.tensorflow.load import from_graph_def  # noqa: E402
from isomorph.frameworks.tensorflow.op_names import module_of, neutral_name  # noqa: E402


@pytest.fixture(scope="module")
def described():
    return describe(from_keras(network()).program)


def by_op(graph_of, native):
    return next(node for node in graph_of.nodes if node.native_op == native)


def test_a_keras_network_in_neutral_words(described):
    ops = [node.op for node in described.nodes]
    assert {"Conv", "Add", "Clip", "Sigmoid", "Mul", "Loop", "MatMul"} <= set(ops)
    assert [spec.name for spec in described.inputs] == ["image"]
    assert described.inputs[0].shape == (None, 6, 6, 3)
    assert [(spec.name, spec.dtype, spec.shape) for spec in described.outputs] == [
        ("logits", "float32", (None, 5))
    ]
    assert described.tensors["logits"].kind == "tensor"


def test_weights_are_named_after_their_variables(described):
    kernel = described.constants["conv/kernel"]
    assert kernel.shape == (3, 3, 3, 4)
    assert by_op(described, "Conv2D").inputs == ("image", "conv/kernel")
    assert {"norm/moving_mean", "norm/moving_variance", "logits/bias"} <= set(described.constants)


def test_attributes_hold_tensorflows_words_and_neutral_ones(described):
    conv = by_op(described, "Conv2D").attributes
    assert conv["padding"] == "SAME"
    assert conv["strides"] == (1, 1, 1, 1)
    assert conv["data_format"] == "NHWC"
    assert conv["explicit_paddings"] == ()
    assert conv["group"] == 1
    assert by_op(described, "Relu6").attributes["max"] == 6.0
    assert by_op(described, "MatMul").attributes["transA"] is False
    assert by_op(described, "Transpose").attributes["perm"] == (1, 0, 2)


def test_sources_are_the_layers(described):
    source = by_op(described, "Conv2D").source
    assert source is not None
    assert source.module.split("/")[-1].startswith("conv")
    assert module_of("StatefulPartitionedCall_1/model/conv/Conv2D") == "model/conv"
    assert module_of("PartitionedCall/StatefulPartitionedCall/Relu") is None
    assert module_of("Relu") is None


def test_bodies_are_graphs_of_their_own(described):
    loop = next(node for node in described.nodes if node.op == "Loop")
    assert set(loop.bodies) == {"cond", "body"}
    body = loop.bodies["body"]
    assert all(node.name.startswith(f"{loop.name}/body#") for node in body.nodes)
    known = {spec.name for spec in body.inputs} | set(body.constants)
    for node in body.nodes:
        assert set(node.inputs) <= known
        known |= set(node.outputs)
    assert len(body.inputs) == len(loop.inputs)
    assert loop.bodies["cond"].outputs[0].dtype == "bool"
    kinds = {body.tensors[name].kind for name in (spec.name for spec in body.inputs)}
    assert kinds == {"tensor", "sequence"}


def test_branches_are_described_by_number():
    @tf.function(
        input_signature=[tf.TensorSpec((2,), tf.float32, "x"), tf.TensorSpec((), tf.int32, "n")]
    )
    def choose(x, n):
        return tf.switch_case(n, [lambda: x + 1.0, lambda: tf.exp(x)])

    node = next(node for node in describe(from_function(choose, {}).program).nodes if node.bodies)
    assert list(node.bodies) == ["branches[0]", "branches[1]"]
    assert "Exp" in [inner.op for inner in node.bodies["branches[1]"].nodes]
    assert node.bodies["branches[1]"].nodes[0].name.startswith(f"{node.name}/branches[1]#1/")


def test_reductions_and_moves_report_their_axes():
    made = graph(
        placeholder("x"),
        constant("axes", np.array([1], np.int32)),
        ("mean", "Mean", ["x", "axes"], {"T": tf.float32, "Tidx": tf.int32, "keep_dims": True}),
        constant("axis", np.int32(0)),
        ("joined", "ConcatV2", ["mean", "mean", "axis"],
         {"T": tf.float32, "N": 2, "Tidx": tf.int32}),
    )  # fmt: skip
    program = describe(from_graph_def(made).program)
    assert program.nodes[0].op == "ReduceMean"
    assert program.nodes[0].attributes["axes"] == (1,)
    assert program.nodes[0].attributes["keepdims"] is True
    assert program.nodes[1].op == "Concat"
    assert program.nodes[1].attributes["axis"] == 0


def test_operators_without_a_neutral_name_keep_their_own():
    assert neutral_name("Max") == "ReduceMax"
    assert neutral_name("Maximum") == "Max"
    assert neutral_name("Where") == "NonZero"
    assert neutral_name("SelectV2") == "Where"
    assert neutral_name("Frobnicate") == "Frobnicate"


def test_fake_quantizers_are_grids():
    made = graph(
        placeholder("x"),
        unary("q", "FakeQuantWithMinMaxArgs", "x", min=-1.0, max=1.55, num_bits=8),
        constant("low", np.array([-1.0, 0.0], np.float32)),
        constant("high", np.array([1.0, 3.0], np.float32)),
        ("c", "FakeQuantWithMinMaxVarsPerChannel", ["q", "low", "high"],
         {"num_bits": 4, "narrow_range": True}),
    )  # fmt: skip
    del made.node[1].attr["T"]
    one, two = describe(from_graph_def(made).program).quantization
    assert (one.tensor, one.dtype, one.axis) == ("q", "uint8", None)
    assert one.scale == pytest.approx((0.01,))
    assert one.zero_point == (100,)
    assert two.axis == -1
    assert two.scale == pytest.approx((2 / 14, 3 / 14))
    assert two.zero_point == (8, 1)


def test_the_grid_is_the_one_that_tensorflow_uses():
    x = np.linspace(-2, 3, 1001, dtype=np.float32)
    made = graph(placeholder("x"), unary("q", "FakeQuantWithMinMaxArgs", "x", min=-0.7, max=1.9))
    del made.node[1].attr["T"]
    (grid,) = describe(from_graph_def(made).program).quantization
    steps = np.clip(np.round(x / grid.scale[0]) + grid.zero_point[0], 0, 255) - grid.zero_point[0]
    actual = tf.quantization.fake_quant_with_min_max_args(x, -0.7, 1.9).numpy()
    assert np.max(np.abs(steps * grid.scale[0] - actual)) <= grid.scale[0] * 1.001
    assert np.mean(np.abs(steps * grid.scale[0] - actual) < 1e-5) > 0.99


def test_outputs_that_two_nodes_share_are_two_tensors():
    made = graph(placeholder("x"), binary("y", "AddV2", "x", "x"))
    graph_of = describe(from_graph_def(made).program)
    assert [spec.name for spec in graph_of.outputs] == ["y"]
    assert graph_of.inputs[0].shape is None
    assert image().shape == (2, 6, 6, 3)
