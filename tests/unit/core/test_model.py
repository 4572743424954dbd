"""What a graph and a node answer about themselves."""

from isomorph.core.model import Constant, Graph, Node, TensorSpec


def test_an_input_that_is_absent_is_an_empty_name():
    node = Node(name="n", op="Clip", native_op="Clip", inputs=("x", "", "high"), outputs=("y",))
    assert [node.input(place) for place in range(4)] == ["x", "", "high", ""]


def test_weights_are_counted_by_their_elements_and_a_type_is_known_where_it_is_declared():
    constants = {
        name: Constant(name=name, dtype="float32", shape=shape, digest="", value_digest="")
        for name, shape in {"w": (2, 3), "b": (3,), "scalar": (), "empty": (0, 4)}.items()
    }
    tensors = {
        "t": TensorSpec(name="t", dtype="float16", shape=None),
        "u": TensorSpec(name="u", dtype=None, shape=None),
    }
    graph = Graph(name="g", inputs=(), outputs=(), nodes=(), tensors=tensors, constants=constants)
    assert graph.weight_count == 10
    assert [graph.declared_dtype(name) for name in "tuv"] == ["float16", None, None]


def test_absent_tensors_are_neither_read_nor_given():
    node = Node(name="n", op="Clip", native_op="Clip", inputs=("x", "", "m"), outputs=("y", ""))
    assert (node.needs, node.gives) == (("x", "m"), ("y",))
