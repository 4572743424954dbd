"""Where the numbers of a large tensor come from."""

from isomorph.bounds.magnitude_trail import magnitude_trail
from isomorph.core.limits import noted_limits
from isomorph.core.model import Graph, Node
from isomorph.core.ranges import steepest
from isomorph.core.search_limits import TRAIL_STEPS


def graph(nodes):
    """A described graph of these nodes."""
    return Graph(name="g", inputs=(), outputs=(), nodes=tuple(nodes), tensors={}, constants={})


def node(name, inputs, outputs):
    """A node without attributes."""
    return Node(name=name, op="Add", native_op="Add", inputs=tuple(inputs), outputs=tuple(outputs))


def ones(length):
    """Tensors that are all alike."""
    return {f"t{at}": 1.0 for at in range(length + 1)}


def chain(length):
    """Nodes ``n1 … n``: each reads the result of the one before it."""
    return graph([node(f"n{at}", [f"t{at - 1}"], [f"t{at}"]) for at in range(1, length + 1)])


def test_the_largest_operand_is_followed_to_the_input():
    made = graph([node("first", ["x"], ["a"]), node("sum", ["a", "b"], ["y"])])
    trail = magnitude_trail(made, "y", {"x": 2.0, "a": 30.0, "b": 5.0, "y": 60.0})
    assert [(each.node, each.operand) for each in trail] == [("sum", "a"), ("first", "x")]
    assert steepest(trail).node == "first"


def test_what_was_not_measured_ends_the_trail():
    trail = magnitude_trail(chain(2), "t2", {"t2": 4.0})
    assert [(each.node, each.operand) for each in trail] == [("n2", None)]
    assert steepest(trail) is None


def test_a_long_trail_says_that_it_was_cut():
    length = TRAIL_STEPS.most + 3
    with noted_limits() as noted:
        trail = magnitude_trail(chain(length), f"t{length}", ones(length))
    assert len(trail) == TRAIL_STEPS.most
    assert TRAIL_STEPS in noted


def test_a_trail_of_just_the_limit_is_whole():
    length = TRAIL_STEPS.most
    with noted_limits() as noted:
        trail = magnitude_trail(chain(length), f"t{length}", ones(length))
    assert len(trail) == length
    assert not noted
