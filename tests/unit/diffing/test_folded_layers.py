"""Groups that are one linear layer on each side, once everything is folded together."""

import numpy as np

from described_graphs import graph, node, weight
from isomorph.diffing.folded_layers import FoldedLayers
from isomorph.match.stored_weights import Weights


class Values:
    """A session that knows constants alone."""

    def __init__(self, values):
        self.values = values

    def run(self, feeds, fetch):
        return {name: self.values[name] for name in fetch}


def sides(*written):
    graphs = [graph(nodes, stored) for nodes, stored in written]
    weights = [Weights(g, Values(s)) for g, (_, s) in zip(graphs, written, strict=True)]
    return graphs, FoldedLayers(*weights)


KERNEL, SCALE, SHIFT = weight(0), weight(1, 8), weight(2, 8)
SCALED = [node("p", "MatMul", "x w"), node("f", "Mul", "p.out scale"),
          node("o", "Add", "f.out shift")]  # fmt: skip
WRITTEN = SCALED, {"w": KERNEL, "scale": SCALE, "shift": SHIFT}


def test_scales_of_either_side_are_folded():
    halved = {"w": KERNEL * SCALE * np.float32(2), "half": np.float32([0.5]), "shift": SHIFT}
    other = [node("p", "MatMul", "x w"), node("h", "Mul", "p.out half"),
             node("o", "Add", "h.out shift")]  # fmt: skip
    graphs, layers = sides(WRITTEN, (other, halved))
    left = layers.layer(0, graphs[0].nodes, {"w", "scale", "shift"})
    right = layers.layer(1, graphs[1].nodes, {"w", "half", "shift"})
    assert layers.changes(left, right) == []
    assert left.is_folded
    assert left.activations == []


def test_a_sum_of_two_tensors_is_no_layer():
    nodes = [*SCALED[:2], node("o", "Add", "f.out x")]
    graphs, layers = sides((nodes, {"w": KERNEL, "scale": SCALE}), WRITTEN)
    assert layers.layer(0, graphs[0].nodes, {"w", "scale"}) is None


def test_a_constant_that_is_not_folded_is_not_forgotten():
    graphs, layers = sides(WRITTEN, WRITTEN)
    assert layers.layer(0, graphs[0].nodes, {"w", "scale", "shift", "more"}) is None
    assert layers.layer(0, graphs[0].nodes[:1], {"w"}).folded.names == ("w",)


def test_a_lost_bias_is_a_change():
    graphs, layers = sides(WRITTEN, (SCALED[:1], {"w": KERNEL * SCALE}))
    left = layers.layer(0, graphs[0].nodes, {"w", "scale", "shift"})
    right = layers.layer(1, graphs[1].nodes, {"w"})
    (change,) = layers.changes(left, right)
    assert (change.name, change.candidate) == ("bias", "0")


def test_a_factor_of_the_node_itself_is_not_compared():
    doubled = [node("p", "Gemm", "x w", alpha=2.0)]
    graphs, layers = sides((doubled, {"w": KERNEL}), WRITTEN)
    assert layers.layer(0, graphs[0].nodes, {"w"}) is None
