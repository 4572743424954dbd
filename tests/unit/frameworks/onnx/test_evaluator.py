"""What the evaluator computes: widths, cuts, bodies, functions, refusals."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.frameworks.onnx.evaluator import Evaluator

FLOAT, HALF, INT64, BOOL = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.BOOL,
)


def graph_of(nodes, inputs, outputs, constants=None):
    values = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (*inputs, *outputs)
    ]
    stored = [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    return helper.make_graph(nodes, "g", values[: len(inputs)], values[len(inputs) :], stored)


def model_of(nodes, inputs, outputs, constants=None, *, opset=18, functions=(), domains=()):
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    graph = graph_of(nodes, inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=imports, functions=functions)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=attributes.pop("name", ""), **attributes)


X = np.array([0.1, 1.0, -3.3], np.float32)


def test_data_is_never_rounded_to_its_declared_type():
    model = model_of([node("Exp", ["x"], ["y"])], [("x", FLOAT, [3])], [("y", FLOAT, [3])])
    y = Evaluator(model).run({"x": X}, ["y"])["y"]
    assert y.dtype == np.float64
    assert np.array_equal(y, np.exp(X.astype(np.float64)))


def test_a_subgraph_of_constants_keeps_its_declared_width():
    third = np.array([1 / 3], np.float32)
    model = model_of(
        [node("Mul", ["a", "a"], ["square"]), node("Mul", ["x", "square"], ["y"])],
        [("x", FLOAT, [3])],
        [("y", FLOAT, [3])],
        {"a": third},
    )
    y = Evaluator(model).run({"x": X}, ["y"])["y"]
    assert np.array_equal(y, X.astype(np.float64) * np.float64(third * third))
    assert not np.array_equal(y, X.astype(np.float64) * np.float64(third) ** 2)


def test_a_constant_fed_with_its_own_value_stays_a_constant():
    model = model_of(
        [node("Mul", ["a", "a"], ["b"]), node("Mul", ["b", "a"], ["c"])],
        [],
        [("c", FLOAT, [1])],
        {"a": np.array([1 / 3], np.float32)},
    )
    evaluator = Evaluator(model)
    whole = evaluator.run({}, ["b", "c"])
    assert np.array_equal(evaluator.run({"b": whole["b"]}, ["c"])["c"], whole["c"])


def test_sizes_are_decided_in_the_declared_type():
    model = model_of(
        [node("Resize", ["x", "", "scales"], ["y"], mode="linear")],
        [("x", FLOAT, [1, 1, 10])],
        [("y", FLOAT, None)],
        {"scales": np.array([1, 1, 0.7], np.float32)},
    )
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 10)
    assert Evaluator(model).run({"x": x}, ["y"])["y"].shape == (1, 1, 7)


def test_shapes_of_data_are_constants():
    model = model_of(
        [
            node("Shape", ["x"], ["s"]),
            node("Cast", ["s"], ["f"], to=FLOAT),
            node("Div", ["f", "three"], ["third"]),
            node("Mul", ["x", "third"], ["y"]),
        ],
        [("x", FLOAT, [3])],
        [("y", FLOAT, [3])],
        {"three": np.array([7], np.float32)},
    )
    y = Evaluator(model).run({"x": X}, ["y"])["y"]
    assert np.array_equal(y, X.astype(np.float64) * np.float64(np.float32(3) / np.float32(7)))


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (HALF, np.exp(X.astype(np.float64)).astype(np.float16).astype(np.float64)),
        (FLOAT, np.exp(X.astype(np.float64))),
        (TensorProto.DOUBLE, np.exp(X.astype(np.float64))),
        (INT64, np.array([1, 2, 0])),
    ],
)
def test_a_cast_rounds_only_into_something_narrower(to, expected):
    model = model_of(
        [node("Exp", ["x"], ["e"]), node("Cast", ["e"], ["y"], to=to)],
        [("x", FLOAT, [3])],
        [("y", to, [3])],
    )
    y = Evaluator(model).run({"x": X}, ["y"])["y"]
    assert np.array_equal(y, expected)


def test_a_cast_overflows_to_infinity_and_stays_lifted():
    model = model_of(
        [node("Cast", ["x"], ["h"], to=HALF), node("Div", ["h", "h"], ["y"])],
        [("x", FLOAT, [2])],
        [("y", HALF, [2])],
    )
    h = Evaluator(model).run({"x": np.array([7e4, 0.1], np.float32)}, ["h"])["h"]
    assert h[0] == np.inf
    assert h.dtype == np.float64
    assert h[1] == np.float64(np.float16(0.1))


def test_half_constants_are_computed_in_float32_and_stored_in_half():
    a = np.array([0.1], np.float16)
    model = model_of([node("Mul", ["a", "a"], ["y"])], [], [("y", HALF, [1])], {"a": a})
    y = Evaluator(model).run({}, ["y"])["y"]
    assert y == np.float64(np.float16(np.float32(a) * np.float32(a)))


def test_integers_keep_their_width_and_wrap():
    model = model_of(
        [node("Add", ["x", "x"], ["y"])],
        [("x", TensorProto.INT32, [1])],
        [("y", TensorProto.INT32, [1])],
    )
    y = Evaluator(model).run({"x": np.array([2**31 - 1], np.int32)}, ["y"])["y"]
    assert y.dtype == np.int32
    assert y == -2


def chain():
    return model_of(
        [
            node("Mul", ["x", "w"], ["a"], name="first"),
            node("Exp", ["a"], ["b"], name="second"),
            node("Add", ["b", "w"], ["c"], name="third"),
            node("Neg", ["z"], ["d"], name="aside"),
        ],
        [("x", FLOAT, [3]), ("z", FLOAT, [3])],
        [("c", FLOAT, [3]), ("d", FLOAT, [3])],
        {"w": np.array([2.0], np.float32)},
    )


def test_what_is_fed_cuts_the_graph():
    evaluator = Evaluator(chain())
    # Neither x nor z is needed for it.
    result = evaluator.run({"b": np.zeros(3)}, ["c", "w"])
    assert np.array_equal(result["c"], [2.0, 2.0, 2.0])
    assert np.array_equal(result["w"], [2.0])
    fed = evaluator.run({"w": np.array([3.0]), "x": X}, ["a"])["a"]
    assert np.array_equal(fed, X.astype(np.float64) * 3.0)


def test_feeds_are_not_modified_and_may_be_fetched():
    feeds = {"x": X.copy(), "z": X.copy()}
    result = Evaluator(chain()).run(feeds, ["x", "a", "b", "c", "d"])
    assert np.array_equal(feeds["x"], X)
    assert np.array_equal(result["x"], X)


def test_a_missing_feed_and_an_unknown_name_are_errors():
    evaluator = Evaluator(chain())
    with pytest.raises(UsageError, match="'x'") as missing:
        evaluator.run({}, ["c"])
    assert missing.value.code == "MISSING_INPUT"
    with pytest.raises(UsageError, match="cc") as unknown:
        evaluator.run({"x": X}, ["cc"])
    assert unknown.value.code == "UNKNOWN_TENSOR"


def test_every_unsupported_operator_is_named_when_the_model_is_opened():
    model = model_of(
        [
            node("Fancy", ["x"], ["a"], domain="acme", name="n1"),
            node("Fancy", ["a"], ["b"], domain="acme", name="n2"),
            node("Missing", ["b"], ["y"], name="n3"),
        ],
        [("x", FLOAT, [3])],
        [("y", FLOAT, [3])],
        domains=("acme",),
    )
    with pytest.raises(UnreadableModelError) as refused:
        Evaluator(model)
    assert refused.value.code == "UNSUPPORTED_OP"
    for word in ("acme::Fancy (opset 1)", "n1, n2", "ai.onnx::Missing (opset 18)", "n3"):
        assert word in str(refused.value)


def test_a_node_that_fails_is_named():
    model = model_of(
        [node("MatMul", ["x", "x"], ["y"], name="product")],
        [("x", FLOAT, [2, 3])],
        [("y", FLOAT, None)],
    )
    with pytest.raises(RuntimeFailedError, match="product") as failed:
        Evaluator(model).run({"x": np.zeros((2, 3), np.float32)}, ["y"])
    assert failed.value.exit_code == 3


def scaled_exp(name, inner=()):
    nodes = [
        onnx.helper.make_node("Constant", [], ["k"]),
        *inner,
        node("Exp", ["u"], ["e"]),
        node("Mul", ["e", "k"], ["v"]),
    ]
    reference = nodes[0].attribute.add()
    reference.name, reference.ref_attr_name = "value_float", "factor"
    reference.type = onnx.AttributeProto.FLOAT
    return helper.make_function(
        "local", name, ["u"], ["v"], nodes, [helper.make_opsetid("", 18)], ["factor"]
    )


def test_functions_of_the_model_take_the_attributes_of_each_call():
    model = model_of(
        [
            node("Scaled", ["x"], ["a"], domain="local", factor=2.0),
            node("Scaled", ["x"], ["b"], domain="local", factor=5.0),
        ],
        [("x", FLOAT, [3])],
        [("a", FLOAT, [3]), ("b", FLOAT, [3])],
        functions=[scaled_exp("Scaled")],
        domains=("local",),
    )
    result = Evaluator(model).run({"x": X}, ["a", "b"])
    assert np.array_equal(result["a"], np.exp(X.astype(np.float64)) * 2.0)
    assert np.array_equal(result["b"], np.exp(X.astype(np.float64)) * 5.0)


def test_a_function_that_calls_itself_is_refused():
    inner = helper.make_node("Loops", ["u"], ["w"], domain="local", factor=1.0)
    model = model_of(
        [node("Loops", ["x"], ["y"], domain="local", factor=1.0)],
        [("x", FLOAT, [3])],
        [("y", FLOAT, [3])],
        functions=[scaled_exp("Loops", [inner])],
        domains=("local",),
    )
    with pytest.raises(UnreadableModelError, match="Loops → Loops") as refused:
        Evaluator(model)
    assert refused.value.code == "RECURSIVE_FUNCTION"


def test_the_newest_form_of_a_standard_function_is_expanded_with_its_types():
    # NegativeLogLikelihoodLoss exists as a function whose body depends on the call.
    model = model_of(
        [node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], reduction="sum")],
        [("x", FLOAT, [2, 3]), ("t", INT64, [2])],
        [("y", FLOAT, [])],
    )
    x = np.log(np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], np.float32))
    y = Evaluator(model).run({"x": x, "t": np.array([2, 1])}, ["y"])["y"]
    assert y == pytest.approx(-(np.float64(x[0, 2]) + np.float64(x[1, 1])), abs=1e-15)


def test_what_follows_from_constants_is_kept_but_not_past_a_feed():
    model = model_of(
        [node("Transpose", ["w"], ["t"]), node("MatMul", ["x", "t"], ["y"])],
        [("x", FLOAT, [1, 3])],
        [("y", FLOAT, [1, 2])],
        {"w": np.arange(6, dtype=np.float32).reshape(2, 3)},
    )
    evaluator = Evaluator(model)
    x = np.ones((1, 3), np.float32)
    first, again = (evaluator.run({"x": x}, ["y"])["y"] for _ in range(2))
    assert np.array_equal(first, again)
    fed = evaluator.run({"x": x, "w": np.zeros((2, 3))}, ["y"])["y"]
    assert not fed.any()
    assert np.array_equal(evaluator.run({"x": x}, ["y"])["y"], first)


def test_two_random_nodes_draw_different_numbers_and_repeat_them():
    model = model_of(
        [node("RandomNormalLike", ["x"], ["a"]), node("RandomNormalLike", ["x"], ["b"])],
        [("x", FLOAT, [50])],
        [("a", FLOAT, [50]), ("b", FLOAT, [50])],
    )
    evaluator = Evaluator(model)
    x = np.zeros(50, np.float32)
    first, again = (evaluator.run({"x": x}, ["a", "b"]) for _ in range(2))
    assert not np.array_equal(first["a"], first["b"])
    assert np.array_equal(first["a"], again["a"])


@pytest.mark.parametrize("rows", [0, 2])
def test_a_batch_of_nothing_goes_through(rows):
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Softmax", ["a"], ["b"]),
        node("LayerNormalization", ["b", "g"], ["c"]),
        node("ReduceMean", ["c"], ["y"], axes=[1]),
    ]
    model = model_of(
        nodes,
        [("x", FLOAT, [rows, 3, 4])],
        [("y", FLOAT, None)],
        {"w": np.ones((4, 5), np.float32), "g": np.ones(5, np.float32)},
        opset=17,
    )
    y = Evaluator(model).run({"x": np.zeros((rows, 3, 4), np.float32)}, ["y"])["y"]
    assert y.shape == (rows, 1, 5)


def test_a_file_whose_nodes_stand_in_any_order_is_evaluated():
    nodes = [
        helper.make_node("Relu", ["m"], ["y"], "last"),
        helper.make_node("Neg", ["x"], ["m"], "first"),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    x = np.array([-1.0, 0.0, 2.0], np.float32)
    assert Evaluator(model).run({"x": x}, ["y"], None)["y"].tolist() == [1.0, 0.0, 0.0]
