"""In-place operators that are functions, and those that are not."""

from dataclasses import replace

from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.frameworks.pytorch.in_place_effects import effects


def graph(*steps, outputs=("y",)):
    nodes = tuple(
        Node(name=output, op="", native_op=f"aten.{word}.default", inputs=inputs, outputs=(output,))
        for output, word, inputs in steps
    )
    specs = tuple(TensorSpec(name=name, dtype="float32", shape=(2,)) for name in outputs)
    return Graph(name="g", inputs=(), outputs=specs, nodes=nodes, tensors={}, constants={})


def test_a_new_tensor_that_nothing_else_reads_may_be_overwritten():
    assert effects(graph(("c", "conv2d", ("x", "w")), ("y", "relu_", ("c",)))) == {}


def test_an_input_may_not():
    assert set(effects(graph(("r", "relu_", ("x",)), ("y", "neg", ("r",))))) == {"r", "y"}


def test_nor_a_tensor_that_is_read_later():
    made = graph(("c", "neg", ("x",)), ("r", "relu_", ("c",)), ("y", "add", ("r", "c")))
    assert set(effects(made)) == {"c", "r", "y"}


def test_nor_one_that_has_a_view():
    made = graph(
        ("c", "neg", ("x",)), ("v", "view", ("c",)), ("r", "relu_", ("c",)), ("y", "neg", ("v",))
    )
    assert set(effects(made)) == {"c", "v", "r", "y"}


def test_nor_a_view():
    made = graph(("v", "view", ("x",)), ("y", "relu_", ("v",)))
    assert set(effects(made)) == {"v", "y"}


def test_nor_an_output():
    made = graph(("c", "neg", ("x",)), ("r", "relu_", ("c",)), outputs=("c", "r"))
    assert set(effects(made)) == {"c", "r"}


def test_what_was_read_before_is_untouched():
    made = graph(("c", "neg", ("x",)), ("s", "exp", ("c",)), ("y", "relu_", ("c",)))
    assert effects(made) == {}


def test_a_step_that_gives_nothing_refuses_the_whole_program():
    node = Node(name="e", op="", native_op="prim.SetAttr", inputs=("y",), outputs=())
    made = graph(("y", "neg", ("x",)))
    assert set(effects(replace(made, nodes=(*made.nodes, node)))) == {"y", "e"}
