"""Each structural fault has its own code and names what is at fault."""

import onnx
import pytest
from onnx import TensorProto, helper

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.onnx.validate import validate

HEAD = '<ir_version: 9, opset_import: ["" : 17]>'


def model(text, head=HEAD):
    return onnx.parser.parse_model(f"{head} {text}")


def refusal(proto):
    with pytest.raises(UnreadableModelError) as caught:
        validate(proto, file="m.onnx")
    assert caught.value.exit_code == 2
    return caught.value


def test_a_sound_model_passes():
    validate(model("g (float[2] x) => (float[2] y) { y = Relu(x) }"), file="m.onnx")


def test_no_graph():
    assert refusal(onnx.ModelProto(ir_version=9)).code == "NO_GRAPH"


def test_no_nodes_is_fine():
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([], "g", [value], [value])
    validate(helper.make_model(graph, ir_version=9), file="m.onnx")


@pytest.mark.parametrize("change", ["opset", "ir"])
def test_versions_from_the_future_list_what_is_supported(change):
    proto = model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    if change == "opset":
        proto.opset_import[0].version = 99
    else:
        proto.ir_version = 99
    error = refusal(proto)
    assert error.code == "OPSET_TOO_NEW"
    assert "99" in error.what
    assert f"onnx {onnx.__version__}" in error.why
    assert "onnxruntime" in error.why


def test_a_cycle_is_printed():
    error = refusal(
        model("g (float[2] x) => (float[2] b) { [first] a = Add(x, b) [second] b = Relu(a) }")
    )
    assert error.code == "GRAPH_CYCLE"
    assert error.where in ("first -> second -> first", "second -> first -> second")


def test_a_cycle_behind_sound_nodes_is_found_too():
    error = refusal(
        model(
            "g (float[2] x) => (float[2] z) {"
            "[p] p = Relu(x) [a] a = Add(p, c) [b] b = Relu(a) [c] c = Relu(b) [z] z = Relu(c) }"
        )
    )
    assert set(error.where.split(" -> ")) == {"a", "b", "c"}


def test_a_dangling_input_names_node_and_input():
    error = refusal(model("g (float[2,2] x) => (float[2,2] y) { [product] y = MatMul(x, w) }"))
    assert error.code == "DANGLING_INPUT"
    assert "'product'" in error.where
    assert "'w'" in error.where


def test_a_dangling_output():
    assert refusal(model("g (float[2] x) => (float[2] y) { z = Relu(x) }")).code == "DANGLING_INPUT"


@pytest.mark.parametrize(
    "body", ["y = Relu(x) y = Abs(x)", "x = Relu(x) y = Relu(x)", "w = Relu(x) y = Relu(w)"]
)
def test_two_origins_of_one_tensor(body):
    proto = model(f"g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ {body} }}")
    assert refusal(proto).code == "NOT_SSA"


def test_an_input_with_a_default_value_is_fine():
    proto = model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    validate(proto, file="m.onnx")


def test_an_unknown_operator_of_the_default_domain():
    proto = model("g (float[2] x) => (float[2] y) { [here] y = Reluu(x) }")
    error = refusal(proto)
    assert error.code == "UNSUPPORTED_OP"
    assert "Reluu" in error.what
    assert "17" in error.what
    assert "here" in error.where
    assert "Relu" in error.why


def test_an_operator_that_came_later_reports_when():
    proto = model("g (float[2] x) => (float[2] y) { y = Gelu(x) }")
    assert "from opset 20" in refusal(proto).why


def test_operators_that_onnxruntime_writes_into_the_default_domain_are_known():
    proto = model(
        "g (float[2] x, float[2] s) => (float[2] y) {y = SimplifiedLayerNormalization(x, s)}"
    )
    validate(proto, file="m.onnx")


def test_a_custom_domain_is_left_to_the_runtimes():
    head = '<ir_version: 9, opset_import: ["" : 17, "com.example" : 1]>'
    validate(model("g (float[2] x) => (float[2] y) { y = com.example.Odd(x) }", head), file="m")


def test_a_recursive_function_shows_the_circle():
    proto = model("g (float[2] x) => (float[2] y) { y = local.F(x) }",
        '<ir_version: 9, opset_import: ["" : 17, "local" : 1]>')  # fmt: skip
    for name, callee in (("F", "G"), ("G", "F")):
        node = helper.make_node(callee, ["a"], ["b"], domain="local")
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
        proto.functions.append(helper.make_function("local", name, ["a"], ["b"], [node], opsets))
    error = refusal(proto)
    assert error.code == "RECURSIVE_FUNCTION"
    assert error.where == "F -> G -> F"


def test_a_function_used_twice_is_no_recursion():
    proto = model("g (float[2] x) => (float[2] y) { a = local.F(x) y = local.F(a) }",
        '<ir_version: 9, opset_import: ["" : 17, "local" : 1]>')  # fmt: skip
    node = helper.make_node("Relu", ["a"], ["b"])
    opsets = [helper.make_opsetid("", 17)]
    proto.functions.append(helper.make_function("local", "F", ["a"], ["b"], [node], opsets))
    validate(proto, file="m.onnx")


BRANCHES = (
    "y = If (c) <then_branch = t () => (float[2] p) { p = Relu(h) },"
    " else_branch = e () => (float[2] q) { q = Abs(x) }>"
)


def test_a_body_may_read_the_outer_scope():
    proto = model(f"g (float[2] x, bool c) => (float[2] y) {{ h = Neg(x) {BRANCHES} }}")
    validate(proto, file="m.onnx")


def test_a_body_may_not_read_what_nobody_has():
    error = refusal(model(f"g (float[2] x, bool c) => (float[2] y) {{ {BRANCHES} }}"))
    assert error.code == "DANGLING_INPUT"
    assert "then_branch#0" in error.where
    assert "'h'" in error.where


def test_a_cycle_through_a_body_is_a_cycle():
    text = f"g (float[2] x, bool c) => (float[2] y) {{ h = Neg(y) {BRANCHES} }}"
    assert refusal(model(text)).code == "GRAPH_CYCLE"
