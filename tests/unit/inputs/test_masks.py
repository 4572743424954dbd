"""Made-up masks hide a part and lengths stay within the sequence, as the graph uses them."""

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph, Node, TensorSpec
from isomorph.inputs.feeds import Sample
from isomorph.inputs.generate import generate
from isomorph.inputs.masks import hidden_by, longest
from isomorph.repair.fresh_samples import proof_samples

LOW, ZERO, ONE = (np.array(n, np.float32) for n in (-1e9, 0, 1))
RANGE = np.arange(6)


def node(op, inputs, output, **attributes):
    return Node(
        name=output, op=op, native_op=attributes.pop("native", op), inputs=tuple(inputs.split()),
        outputs=(output,), attributes=attributes,
    )  # fmt: skip


def graph(*nodes, dtype="bool", name="m", shape=(3, 6), tensors=None, **constants):
    specs = (
        TensorSpec(name="x", dtype="float32", shape=(3, 6, 4)),
        TensorSpec(name=name, dtype=dtype, shape=shape),
    )
    stored = {key: constant_of(key, value) for key, value in constants.items()}
    return Graph(
        name="g", inputs=specs, outputs=(), nodes=nodes, tensors=tensors or {}, constants=stored
    )


HIDES = {
    "filled where true": graph(node("Where", "m low x", "y"), low=LOW),
    "filled by a stated number": graph(node("Where", "x m", "y", value=float("-inf"))),
    "turned round twice": graph(
        node("Not", "m", "n"), node("Not", "n", "k"), node("Where", "k low x", "y"), low=LOW
    ),
    "times a large number": graph(
        node("Cast", "m", "f"), node("Mul", "f low", "p"), node("Add", "x p", "y"), low=LOW
    ),
    "zeros put in": graph(node("Where", "m zero x", "y"), zero=ZERO),
}
KEEPS = {
    "filled where false": graph(node("Where", "m x low", "y"), low=LOW),
    "turned round": graph(node("Not", "m", "n"), node("Where", "n low x", "y"), low=LOW),
    "one minus it": graph(
        node("Cast", "m", "f"), node("Sub", "one f", "g"), node("Mul", "g low", "p"),
        low=LOW, one=ONE,
    ),
    "not equal to zero": graph(
        node("Equal", "m zero", "e"), node("Where", "e low x", "y"), low=LOW, zero=ZERO,
        dtype="int64",
    ),
    "of an attention": graph(node("Attention", "x x x m", "y")),
    "picked by positions": graph(
        node("Cast", "m", "b"), node("GatherND", "b places", "p"), node("And", "causal p", "k"),
        node("Expand", "k", "e"), node("Attention", "x x x e", "y"), dtype="int64", places=RANGE,
        tensors={"e": TensorSpec(name="e", dtype="bool", shape=(3, 1, 6, 6))},
    ),
    "multiplied": graph(node("Cast", "m", "f"), node("Mul", "x f", "y")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("used", "hides"),
    [*((each, True) for each in HIDES.values()), *((each, False) for each in KEEPS.values())],
    ids=[*HIDES, *KEEPS],
)
@pytest.mark.parametrize("seed", range(4))
def test_every_row_stays_visible_by_half_at_least(used, hides, seed):
    assert hidden_by(used, "m", name="m") is hides
    mask = generate(used, {}, sample="normal", seed=seed)["m"].astype(bool)
    visible = ~mask if hides else mask
    assert (visible.sum(axis=-1) >= 3).all()


def test_a_name_decides_only_where_the_graph_does_not():
    assert hidden_by(graph(), "m", name="key_padding_mask") is True
    assert hidden_by(graph(), "m", name="attention_mask") is False
    assert hidden_by(KEEPS["turned round"], "m", name="key_padding_mask") is False


def test_numbers_that_merely_multiply_are_no_mask():
    used = graph(
        node("Cast", "n", "f"), node("Mul", "x f", "y"), dtype="int64", name="n", shape=(3, 64)
    )
    assert generate(used, {}, sample="normal", seed=0)["n"].max() > 1


@pytest.mark.parametrize("seed", range(4))
def test_lengths_stay_within_the_range_they_are_compared_with(seed):
    used = graph(
        node("Unsqueeze", "n", "u"), node("Less", "range u", "y"), range=RANGE,
        dtype="int64", name="n", shape=(3,),
    )  # fmt: skip
    assert longest(used, "n") == 6
    found = generate(used, {}, sample="normal", seed=seed)["n"]
    assert found.max() == 6
    assert found.min() >= 3


def test_a_repair_is_proven_with_whole_rows_of_the_given_mask():
    used = HIDES["filled where true"]
    rng = np.random.default_rng(0)
    given = np.arange(6) >= np.array([[6], [4], [5]])
    feeds = {"x": rng.normal(size=(3, 6, 4)).astype(np.float32), "m": given}
    for sample in proof_samples(used, Sample(origin="given", feeds=feeds), {}, {}, seed=3):
        rows = {tuple(row) for row in sample.feeds["m"].tolist()}
        assert rows == {tuple(row) for row in given.tolist()}
