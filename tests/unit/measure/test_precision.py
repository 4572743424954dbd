"""Which loss a graph declares, and what is only a detour."""

from dataclasses import replace

from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.measure.precision import jumps, narrow_constants, widths


def _graph(*steps):
    """A chain of ``(op, dtype of its result)`` from a float32 input to the last result."""
    specs = [TensorSpec(name="x", dtype="float32", shape=(4,))]
    nodes = []
    for n, (op, dtype) in enumerate(steps):
        specs.append(TensorSpec(name=f"t{n}", dtype=dtype, shape=(4,)))
        node = Node(name=f"n{n}", op=op, native_op=op, inputs=(specs[n].name,), outputs=(f"t{n}",))
        nodes.append(node)
    return Graph(
        name="chain",
        inputs=(specs[0],),
        outputs=(specs[-1],),
        nodes=tuple(nodes),
        tensors={spec.name: spec for spec in specs},
        constants={},
    )


DOWN, UP = ("Cast", "float16"), ("Cast", "float32")
WIDE = ("Relu", "float32")


def test_narrow_from_the_inputs_to_the_outputs_is_declared_though_wide_in_between():
    assert widths(_graph(DOWN, UP, WIDE, WIDE, WIDE, DOWN, UP)) == {"float16"}


def test_a_detour_declares_nothing_wherever_it_is():
    assert not widths(_graph(WIDE, DOWN, UP, WIDE, WIDE))
    assert not widths(_graph(DOWN, UP, WIDE, WIDE, WIDE))
    assert not widths(_graph(WIDE, WIDE, WIDE, DOWN, UP))


def test_mostly_narrow_is_declared():
    assert widths(_graph(DOWN, ("Relu", "float16"), ("Relu", "float16"))) == {"float16"}


def test_a_float_that_decides_on_something_whole_is_a_jump():
    assert not jumps(_graph(WIDE, WIDE))
    assert jumps(_graph(WIDE, DOWN, UP, WIDE)), "a cast to a narrower float rounds to a grid"
    assert jumps(_graph(WIDE, ("Round", "float32")))
    assert jumps(_graph(WIDE, ("ArgMax", "int64"), ("Cast", "float32")))
    assert jumps(_graph(WIDE, ("Greater", "bool")))
    assert jumps(_graph(("QuantizeLinear", "uint8"), ("DequantizeLinear", "float32")))


def test_telling_numbers_from_what_is_none_does_not_jump():
    assert not jumps(_graph(WIDE, ("IsNaN", "bool")))
    assert not jumps(_graph(WIDE, ("IsInf", "bool")))


def test_what_is_whole_from_the_beginning_does_not_jump():
    assert not jumps(_graph(WIDE, WIDE))
    assert not jumps(_graph(WIDE, ("Shape", "int64"), ("Expand", "float32")))
    whole = _graph(("Gather", "float32"))
    tokens = TensorSpec(name="x", dtype="int64", shape=(4,))
    assert not jumps(replace(whole, inputs=(tokens,), tensors={**whole.tensors, "x": tokens}))


def _holding(graph, name, dtype):
    constant = Constant(name=name, dtype=dtype, shape=(4,), digest=name, value_digest=name)
    return replace(graph, constants={name: constant})


def test_narrow_weights_inside_a_loop_are_declared_too():
    body = _holding(_graph(WIDE), "inner", "float16")
    outer = _holding(_graph(("Loop", "float32"), WIDE), "outer", "float32")
    loop = replace(outer.nodes[0], bodies={"body": body})
    graph = replace(outer, nodes=(loop, *outer.nodes[1:]))
    assert narrow_constants(graph) == ("inner",)
    assert widths(graph) == {"float16"}
    assert not narrow_constants(outer)
