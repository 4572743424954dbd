"""The frozen program: what is inlined, cleaned and named, and what is refused."""

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError
from tf_building import binary, constant, graph, placeholder, tensorflow, unary

tf = tensorflow()

from isomorph.frameworks.tensorflow.assemble import assemble  # noqa: E402
from isomorph.frameworks.tensorflow.attributes import attributes_of, functions_of, plain  # noqa: E402
from isomorph.frameworks.tensorflow.program import (  # noqa: E402
    native_name,
    needed,
    part_of,
    place_of,
    sorted_definitions,
    tensor_name,
)


@tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32)])
def called(x):
    return tf.nn.relu(x) + 1.0


def program_of(function, **more):
    from isomorph.frameworks.tensorflow.callables import from_function

    return from_function(function, more).program


def test_names_of_tensors():
    assert tensor_name("a/b:0") == tensor_name("a/b") == "a/b"
    assert tensor_name("a/b:2") == "a/b:2"
    assert native_name("a/b") == "a/b:0"
    assert native_name("a/b:2") == "a/b:2"
    assert place_of("a:b:3") == ("a:b", 3)


def test_nodes_come_after_what_they_read_whatever_the_order_in_the_file():
    made = graph(unary("b", "Relu", "a"), unary("a", "Tanh", "x"), placeholder("x"))
    assert [node.name for node in sorted_definitions(made)] == ["x", "a", "b"]


def test_the_order_is_that_of_the_outputs_whatever_the_order_in_the_file():
    nodes = [placeholder("x"), unary("a", "Relu", "x"), unary("b", "Tanh", "x")]
    for listed in (nodes, nodes[::-1]):
        program = assemble(graph(*listed), [("x", "x")], [("b", "b"), ("a", "a")])
        assert [node.name for node in program.nodes] == ["b", "a"]


def test_devices_and_neighbors_of_another_machine_are_forgotten():
    made = graph(placeholder("x"), unary("a", "Relu", "x"))
    made.node[1].device = "/device:GPU:7"
    made.node[1].attr["_class"].list.s.append(b"loc:@gone")
    program = assemble(made, [("x", "x")], [("a", "a")])
    assert program.graph_def.node[1].device == ""
    assert program.specs["a"].dtype == "float32"


def test_large_weights_have_their_shape():
    made = graph(
        placeholder("x"), constant("w", np.zeros((100, 100), np.float32)),
        binary("y", "AddV2", "x", "w"),
    )  # fmt: skip
    program = assemble(made, [("x", "x")], [("y", "y")])
    assert program.specs["w"].shape == (100, 100)
    assert program.constants["w"].shape == (100, 100)


def test_a_long_chain_needs_no_stack():
    links = [unary(f"n{k}", "Relu", f"n{k - 1}" if k else "x") for k in range(5000)]
    made = graph(*reversed(links), placeholder("x"))
    assert len(sorted_definitions(made)) == 5001


def test_a_circle_is_refused_with_its_nodes():
    made = graph(placeholder("x"), binary("a", "AddV2", "x", "b"), unary("b", "Relu", "a"))
    with pytest.raises(UnreadableModelError) as caught:
        sorted_definitions(made)
    assert caught.value.code == "GRAPH_CYCLE"
    assert "a" in caught.value.where
    assert "b" in caught.value.where


def test_a_missing_tensor_is_refused_with_its_reader():
    with pytest.raises(UnreadableModelError) as caught:
        sorted_definitions(graph(unary("a", "Relu", "ghost")))
    assert caught.value.code == "DANGLING_INPUT"
    assert "'a' reads 'ghost'" in caught.value.where


def test_only_what_is_between_is_needed():
    made = graph(
        placeholder("x"), unary("a", "Relu", "x"), unary("b", "Tanh", "a"), unary("c", "Exp", "a")
    )
    assert needed(made, ["b"]) == {"x", "a", "b"}
    assert needed(made, ["b"], ["a"]) == {"b"}
    assert needed(made, ["a"], ["a"]) == set()
    assert [node.name for node in part_of(made, {"b"}).node] == ["b"]


def test_leftovers_of_freezing_are_gone_and_ports_take_the_signatures_names():
    made = graph(
        placeholder("serving_x"),
        constant("unknown", np.float32(2)),
        unary("model/mul/ReadVariableOp", "Identity", "unknown"),
        binary("model/mul", "Mul", "serving_x", "model/mul/ReadVariableOp"),
        unary("Func/call/output/_3", "Identity", "model/mul"),
        unary("Identity", "Identity", "Func/call/output/_3"),
    )
    program = assemble(
        made, [("x", "serving_x:0")], [("y", "Identity")], constants={"unknown": "scale"}
    )
    assert [(n.name, n.op, n.inputs) for n in program.nodes] == [
        ("model/mul", "Mul", ("x", "scale")),
        ("y", "Identity", ("model/mul",)),
    ]
    assert [port.tensor for port in (*program.inputs, *program.outputs)] == ["x", "y"]
    assert program.constants["scale"] == np.float32(2)


def test_names_that_tensorflow_forbids_or_that_are_taken_are_changed_and_remembered():
    made = graph(placeholder("a"), unary("b", "Relu", "a"))
    program = assemble(made, [("my input", "a")], [("b", "b"), ("my input", "b"), ("a b", "a")])
    assert [(port.name, port.tensor) for port in program.inputs] == [("my input", "my_input")]
    assert [port.tensor for port in program.outputs] == ["b", "my_input_1", "a_b"]


def test_a_call_that_tensorflow_would_not_inline_is_inlined():
    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.exp(called(x)) * 2.0

    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, name="x")])
    def outer(x):
        return tf.tanh(compiled(x))

    program = program_of(outer)
    ops = [node.op for node in program.nodes]
    assert ops == ["Relu", "AddV2", "Exp", "Mul", "Tanh", "Identity"]
    assert not any("Call" in op for op in ops)


def test_a_function_that_calls_itself_is_refused():
    concrete = called.get_concrete_function()
    function = concrete.graph.as_graph_def().library.function
    assert not function, "the plain function calls nothing"
    definition = tf.compat.v1.GraphDef().library.function.add()
    definition.CopyFrom(concrete.function_def)
    definition.signature.name = "again"
    call = definition.node_def.add(name="call", op="PartitionedCall", input=["x"])
    call.attr["f"].func.name = "again"
    call.attr["Tin"].list.type.append(tf.float32.as_datatype_enum)
    call.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
    returned = definition.signature.output_arg[0].name
    definition.ret[returned] = "call:output:0"
    top = ("top", "PartitionedCall", ["x"], {"Tin": [tf.float32], "Tout": [tf.float32]})
    made = graph(placeholder("x"), top, functions=[definition])
    made.node[1].attr["f"].func.name = "again"
    with pytest.raises(UnreadableModelError) as caught:
        assemble(made, [("x", "x")], [("y", "top")])
    assert caught.value.code == "RECURSIVE_FUNCTION"


def test_a_call_of_a_function_that_is_not_there_is_refused():
    top = ("top", "PartitionedCall", ["x"], {"Tin": [tf.float32], "Tout": [tf.float32]})
    made = graph(placeholder("x"), top)
    made.node[1].attr["f"].func.name = "nowhere"
    with pytest.raises(UnreadableModelError) as caught:
        assemble(made, [("x", "x")], [("y", "top")])
    assert caught.value.code == "MISSING_FUNCTION"


@tf.function(
    input_signature=[tf.TensorSpec((3,), tf.float32, name="x"), tf.TensorSpec((), tf.int32, "n")]
)
def controlled(x, n):
    steps = tf.TensorArray(tf.float32, size=n)
    _, y, steps = tf.while_loop(
        lambda i, *_: i < n,
        lambda i, y, s: (i + 1, tf.tanh(y) * 2.0, s.write(i, y)),
        [0, x, steps],
    )
    z = tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2.0, lambda: y - 1.0)
    w = tf.switch_case(n % 3, [lambda: z, lambda: z + 1.0, lambda: tf.nn.relu(z)])
    return w, steps.stack()


def test_loops_and_branches_stay_with_their_bodies():
    program = program_of(controlled)
    by_op = {node.op: node for node in program.nodes}
    assert {"While", "StatelessIf", "StatelessCase"} <= set(by_op) | {
        node.op.replace("StatelessWhile", "While") for node in program.nodes
    }
    loop = next(node for node in program.nodes if "While" in node.op)
    assert set(loop.functions) == {"cond", "body"}
    body = program.functions[loop.functions["body"]]
    assert "Tanh" in [node.op for node in body.nodes]
    assert len(body.inputs) == len(body.outputs) == len(loop.inputs)
    assert [port.tensor for port in body.inputs][:2] == ["input_0", "input_1"]
    branches = by_op["StatelessCase"].functions
    assert list(branches) == ["branches[0]", "branches[1]", "branches[2]"]
    assert not {"Switch", "Merge"} & set(by_op)


def test_lists_are_known_by_their_elements():
    program = program_of(controlled)
    lists = {name for name, spec in program.specs.items() if spec.kind == "sequence"}
    loop = next(node for node in program.nodes if "While" in node.op)
    assert lists & set(loop.inputs)
    assert lists & set(loop.outputs)
    assert {program.specs[name].dtype for name in lists} == {"float32"}


def test_a_program_is_the_same_each_time_it_is_made():
    one, two = program_of(controlled), program_of(controlled)
    assert one.graph_def.SerializeToString(deterministic=True) == two.graph_def.SerializeToString(
        deterministic=True
    )
    assert sorted(one.functions) == sorted(two.functions)
    assert not any(name[-1].isdigit() and "inference" in name for name in one.functions)


def test_attributes_are_plain_and_complete():
    node = graph(unary("p", "AvgPool", "x", padding="SAME")).node[0]
    assert attributes_of(node) == {"T": "float32", "padding": "SAME", "data_format": "NHWC"}
    node.attr["_output_shapes"].list.shape.add()
    assert "_output_shapes" not in attributes_of(node)
    value = tf.compat.v1.AttrValue()
    assert plain(value) is None
    value.list.SetInParent()
    assert plain(value) == ()
    value.shape.unknown_rank = True
    assert plain(value) is None
    value.func.name = "f"
    assert functions_of({"body": plain(value), "others": (plain(value), 3)}) == {
        "body": "f",
        "others[0]": "f",
    }
