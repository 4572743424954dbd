"""Which constants of a group differ, which follow from the other side's, and which nobody knows."""

import numpy as np
import pytest

from described_graphs import graph, node, weight
from isomorph.core.model_diff import ChangeKind, Relation
from isomorph.diffing.graph_diff import DiffConfig, diff_graphs
from isomorph.diffing.group_constants import StoredNumbers
from isomorph.match.stored_weights import Weights


class Values:
    """A session that knows constants alone."""

    def __init__(self, values):
        self.values = values

    def run(self, feeds, fetch):
        return {name: self.values[name] for name in fetch}


def diffed(reference, candidate, *, one_framework=True):
    """The rows of two pairs of nodes and constants."""
    graphs = [graph(nodes, stored) for nodes, stored in (reference, candidate)]
    values = [stored for _, stored in (reference, candidate)]
    sides = [Weights(one, Values(stored)) for one, stored in zip(graphs, values, strict=True)]
    return diff_graphs(
        *graphs,
        inputs={"x": "x"},
        outputs=[(graphs[0].outputs[0].name, graphs[1].outputs[0].name)],
        config=DiffConfig(
            one_framework=one_framework,
            read=lambda side, name: values[side].get(name),
            numbers=lambda: StoredNumbers(*sides),
        ),
    )


KERNEL, BIAS, GAMMA, BETA, MEAN = weight(0, 8, 3, 3, 3), *(weight(seed, 8) for seed in range(1, 5))
VARIANCE = np.abs(weight(5, 8)) + np.float32(0.5)
NORMALIZED = (
    [node("c", "Conv", "x w b", pads=(1, 1, 1, 1)),
     node("n", "BatchNormalization", "c.out g be m v", epsilon=1e-5),
     node("t", "Tanh", "n.out")],
    {"w": KERNEL, "b": BIAS, "g": GAMMA, "be": BETA, "m": MEAN, "v": VARIANCE},
)  # fmt: skip


def folded(epsilon=1e-5, pads=(1, 1, 1, 1), order=(0, 1, 2), bias=0.0):
    """The same as one convolution, or with one thing wrong."""
    factor = GAMMA / np.sqrt(VARIANCE + np.float32(epsilon))
    kernel = (KERNEL * factor[:, None, None, None])[:, list(order)]
    shift = (BIAS - MEAN) * factor + BETA + np.float32(bias)
    nodes = [node("c", "Conv", "x k s", pads=pads), node("t", "Tanh", "c.out")]
    return nodes, {"k": np.ascontiguousarray(kernel), "s": shift}


@pytest.fixture
def group():
    """The only row that is no match."""

    def found(*sides, **config):
        (row,) = [e for e in diffed(*sides, **config) if e.relation is not Relation.MATCHED]
        assert row.relation is Relation.REGROUPED
        return row

    return found


def test_a_folded_normalization_is_compared_in_everything(group):
    row = group(NORMALIZED, folded())
    assert row.changes == ()
    assert not row.leaves_open


def test_swapped_input_channels_behind_a_normalization(group):
    row = group(NORMALIZED, folded(order=(2, 1, 0)))
    (change,) = row.changes
    assert (change.kind, change.name) == (ChangeKind.CONSTANT, "k")
    assert "channels 0 and 2 along axis 1 are swapped" in change.detail
    assert "144 of 216 elements are not those of w, b, g, be, m, v folded" in change.detail


def test_another_epsilon_was_folded_in(group):
    row = group(NORMALIZED, folded(epsilon=1e-3))
    assert [change.name for change in row.changes] == ["k", "s"]
    assert "215 of 216 elements" in row.changes[0].detail


def test_the_bias_of_all_channels(group):
    row = group(NORMALIZED, folded(bias=0.5))
    (change,) = row.changes
    assert change.name == "s"
    assert "the largest difference is 0.5; 8 of 8 elements" in change.detail


def test_an_attribute_of_the_layer(group):
    row = group(NORMALIZED, folded(pads=(0, 0, 0, 0)))
    (change,) = row.changes
    assert (change.kind, change.name) == (ChangeKind.ATTRIBUTE, "pads")


def test_what_nothing_explains_is_not_compared(group):
    # A table of the candidate's own replaces a computation: nothing tells what it follows from.
    reference = [node("a", "Sin", "x"), node("m", "MatMul", "a.out w"), node("t", "Tanh", "m.out")]
    candidate = [node("g", "Einsum", "x table w2"), node("t", "Tanh", "g.out")]
    sides = (reference, {"w": weight(0)}), (candidate, {"table": weight(1), "w2": weight(2)})
    row = group(*sides, one_framework=False)
    assert set(row.uncompared) == {"w", "table", "w2"}
    assert not row.attributes_compared


@pytest.mark.parametrize(("shape", "compared"), [((8, 4), True), ((8, 8), False)])
def test_a_product_is_known_where_the_sizes_tell_the_order_of_its_axes(group, shape, compared):
    reference = [node("g", "Gemm", "x w b"), node("t", "Tanh", "g.out")]
    candidate = [node("m", "MatMul", "x w"), node("s", "Add", "m.out b"),
                 node("t", "Tanh", "s.out")]  # fmt: skip
    stored = {"w": weight(0, *shape), "b": weight(1, shape[1])}
    row = group((reference, stored), (candidate, stored))
    assert (row.changes, row.uncompared, row.attributes_compared) == ((), (), compared)


def test_weights_that_both_sides_hold_are_compared_and_attributes_are_not(group):
    reference = [node("g", "Gemm", "x w b", alpha=2.0), node("t", "Tanh", "g.out")]
    candidate = [node("m", "MatMul", "x w"), node("s", "Add", "m.out b"),
                 node("t", "Tanh", "s.out")]  # fmt: skip
    stored = {"w": weight(0), "b": weight(1, 8)}
    row = group((reference, stored), (candidate, stored))
    assert (row.changes, row.uncompared, row.attributes_compared) == ((), (), False)


def test_rows_in_another_order_are_no_arrangement_of_axes(group):
    reference = [node("g", "Gemm", "x w b"), node("t", "Tanh", "g.out")]
    candidate = [node("m", "MatMul", "x w"), node("s", "Add", "m.out b"),
                 node("t", "Tanh", "s.out")]  # fmt: skip
    stored = {"w": weight(0), "b": weight(1, 8)}
    assert group((reference, stored), (candidate, stored | {"w": stored["w"].T})).changes == ()
    other = stored["w"][[0, 2, 1, *range(3, 8)]]
    (change,) = group((reference, stored), (candidate, stored | {"w": other})).changes
    assert "channels 1 and 2 along axis 0 are swapped" in change.detail


def test_without_values_nothing_counts_as_equal():
    reference, candidate = (graph(*side) for side in (NORMALIZED, folded()))
    found = diff_graphs(
        reference, candidate, inputs={"x": "x"}, outputs=[("t.out", "t.out")],
        config=DiffConfig(one_framework=True),
    )  # fmt: skip
    (row,) = [each for each in found if each.relation is Relation.REGROUPED]
    assert set(row.uncompared) == {"w", "b", "g", "be", "m", "v", "k", "s"}


def test_another_stride_in_the_words_of_another_framework(group):
    torch = [node("c", "Conv", "x w b", stride=(2, 2), padding=(1, 1)),
             node("r", "Relu", "c.out"), node("t", "Tanh", "r.out")]  # fmt: skip
    stored = {"w": KERNEL, "b": BIAS}

    def built_in(stride):
        words = {"stride_height": stride, "stride_width": stride, "padding_top": 1,
                 "padding_left": 1, "padding_bottom": 1, "padding_right": 1, "min": 0.0,
                 "max": np.inf}  # fmt: skip
        nodes = [node("c", "Conv", "x w b", native="xnnpack.XNNConv2d", **words)]
        return [*nodes, node("t", "Tanh", "c.out")], stored

    row = group((torch, stored), built_in(2), one_framework=False)
    assert (row.changes, row.leaves_open) == ((), False)
    row = group((torch, stored), built_in(1), one_framework=False)
    (change,) = row.changes
    assert (change.name, change.reference, change.candidate) == ("strides", "[2, 2]", "[1, 1]")
