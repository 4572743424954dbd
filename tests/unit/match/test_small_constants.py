"""Constants of few elements: which of several equal ones cancel out."""

from __future__ import annotations

import numpy as np

from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.match.small_constants import changed_constants
from isomorph.match.stored_weights import Weights


class Stored:
    """A session that reads constants."""

    def __init__(self, values):
        self.values = values

    def run(self, _feeds, fetch):
        return {name: np.asarray(self.values[name], np.float64) for name in fetch}


def added(first, last, names=("first", "last")):
    """Two sums with constants of one number; a root stands between them."""
    values = {names[0]: np.float32(first), names[1]: np.float32(last)}
    steps = (("Add", ("x", names[0]), "a"), ("Sqrt", ("a",), "b"), ("Add", ("b", names[1]), "y"))
    graph = Graph(
        name="g",
        inputs=(TensorSpec(name="x", dtype="float32", shape=(2, 3)),),
        outputs=(TensorSpec(name="y", dtype="float32", shape=(2, 3)),),
        nodes=tuple(
            Node(name=f"n{out}", op=op, native_op=op, inputs=inputs, outputs=(out,))
            for op, inputs, out in steps
        ),
        tensors={},
        constants={
            name: Constant(
                name=name,
                dtype="float32",
                shape=(),
                digest=str(value.tobytes()),
                value_digest=str(value.tobytes()),
            )
            for name, value in values.items()
        },
    )
    return Weights(graph, Stored(values))


def test_of_equal_constants_the_nearest_cancel_out():
    """The first became zero, which is what the last is on both sides."""
    for names in (("first", "last"), ("c1", "c0")):
        found = changed_constants(added(0.25, 0.0), added(0.0, 0.0, names))
        assert [(each.source.name, each.weight.name) for each in found] == [("first", names[0])]


def test_equal_constants_in_another_order_are_not_changed():
    assert changed_constants(added(0.25, 0.5), added(0.5, 0.25)) == []


def test_so_many_equal_ones_that_they_are_not_ranked_cancel_out(monkeypatch):
    monkeypatch.setattr("isomorph.match.small_constants.RANKED_PAIRS", 0)
    assert changed_constants(added(0.5, 0.5), added(0.5, 0.5)) == []
    assert len(changed_constants(added(0.25, 0.0), added(0.0, 0.0))) == 1
