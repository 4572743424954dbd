"""The search for the fewest nodes in float32, with a measure that counts."""

import numpy as np
import pytest

from isomorph.conversion import float32_nodes
from isomorph.conversion.float32_nodes import Float32Search
from isomorph.core.conversion import KeptNode, KeptReason
from isomorph.core.conversion_limits import NARROW_TRIALS
from isomorph.core.limits import noted_limits
from isomorph.core.model import Graph, Node, TensorSpec

NAMES = [f"n{place}" for place in range(8)]


@pytest.fixture
def search(monkeypatch):
    """Returns a search over a chain of nodes; ``needed`` have to be kept together."""
    near = []
    shares = {name: 1.0 / (1 + place) for place, name in enumerate(NAMES)}
    monkeypatch.setattr(float32_nodes, "measured_extremes", lambda *_: {})
    monkeypatch.setattr(float32_nodes, "nodes_near", lambda *_: near)
    monkeypatch.setattr(float32_nodes, "nodes_beyond", lambda *_: [])
    monkeypatch.setattr(float32_nodes, "rounding_shares", lambda *_: shares)
    nodes = tuple(
        Node(
            name=name,
            op="Relu",
            native_op="Relu",
            inputs=(f"t{place}",),
            outputs=(f"t{place + 1}",),
        )
        for place, name in enumerate(NAMES)
    )
    tensors = {
        f"t{place}": TensorSpec(name=f"t{place}", dtype="float32", shape=(1,))
        for place in range(len(NAMES) + 1)
    }
    graph = Graph(
        name="chain",
        constants={},
        nodes=nodes,
        inputs=(tensors["t0"],),
        outputs=(tensors["t8"],),
        tensors=tensors,
    )

    def build(needed, forced=()):
        asked = []
        near[:] = [
            KeptNode(node=name, op="Relu", reason=KeptReason.NEAR_OVERFLOW) for name in forced
        ]

        def accepts(names):
            asked.append(tuple(names))
            return set(needed) <= set(names)

        made = Float32Search(
            graph=graph, session=None, samples=[{"t0": np.zeros(1)}], alike=[],
            dtype="float16", accepts=accepts,
        )  # fmt: skip
        return made, asked

    return build


def test_nothing_is_kept_where_nothing_is_needed(search):
    made, asked = search(())
    assert made.sets() == [()]
    assert asked == [()]


@pytest.mark.parametrize("needed", [("n0",), ("n3", "n5"), ("n7",), tuple(NAMES)])
def test_exactly_the_needed_nodes_are_found(search, needed):
    made, asked = search(needed)
    smallest = made.sets()[0]
    assert tuple(each.node for each in smallest) == needed
    assert len(asked) == len(set(asked)), "a set was measured twice"


def test_what_further_inputs_may_take_beyond_the_type_is_always_kept(search):
    made, asked = search((), forced=("n2", "n3"))
    assert [[each.node for each in kept] for kept in made.sets()] == [["n2", "n3"]]
    assert asked == [("n2", "n3")]


def test_beside_it_the_needed_nodes_are_still_found(search):
    made, asked = search(("n5",), forced=("n2", "n3"))
    assert [each.node for each in made.sets()[0]] == ["n2", "n3", "n5"]
    assert all({"n2", "n3"} <= set(each) for each in asked)


def test_where_no_set_is_enough_all_real_nodes_are_kept(search):
    made, _ = search(("absent",))
    (only,) = made.sets()
    assert [each.node for each in only] == NAMES


def test_the_limit_of_trials_is_noted_and_the_set_still_suffices(search, monkeypatch):
    monkeypatch.setattr(float32_nodes, "NARROW_TRIALS", type(NARROW_TRIALS)(
        most=3, of=NARROW_TRIALS.of, left_out=NARROW_TRIALS.left_out))  # fmt: skip
    made, asked = search(("n5",))
    with noted_limits() as noted:
        sets = made.sets()
    assert len(asked) == 3
    assert noted
    assert "n5" in {each.node for each in sets[-1]}
