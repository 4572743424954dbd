import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.model import Constant, Graph, Node, TensorSpec
from isomorph.inputs.generate import concrete_shape, generate, table_size


def spec(name, dtype="float32", shape=(2, 3)):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def graph(inputs, nodes=(), constants=()):
    return Graph(
        name="g",
        inputs=tuple(inputs),
        outputs=(),
        nodes=tuple(nodes),
        tensors={each.name: each for each in inputs},
        constants={each.name: each for each in constants},
    )


def node(op, inputs, outputs, **attributes):
    return Node(name=op, op=op, native_op=op, inputs=inputs, outputs=outputs, attributes=attributes)


def table(name, shape):
    return Constant(name=name, dtype="float32", shape=shape, digest="", value_digest="")


@pytest.mark.parametrize("sample", ["normal", "uniform"])
def test_floats_that_select_rows_are_whole_and_inside_the_table(sample):
    g = graph(
        [spec("words", "float32", (8, 32))],
        [
            node("Cast", ("words",), ("ids",), to="int32"),
            node("Gather", ("table", "ids"), ("e",), axis=0),
        ],
        [table("table", (20, 4))],
    )
    words = generate(g, {}, sample=sample, seed=0)["words"]
    assert words.dtype == np.float32
    assert set(words.ravel()) <= set(range(20))
    assert len(set(words.ravel())) > 10


def test_indices_stay_inside_the_smallest_table_they_reach():
    g = graph(
        [spec("ids", "int64", (4, 9))],
        [
            node("Cast", ("ids",), ("ids32",), to="int32"),
            node("Gather", ("words", "ids32"), ("e",), axis=0),
            node("Gather", ("kinds", "ids"), ("k",), axis=0),
        ],
        [table("words", (100, 8)), table("kinds", (3, 8))],
    )
    assert table_size(g, "ids") == 3
    ids = generate(g, {}, sample="normal", seed=1)["ids"]
    assert ids.dtype == np.int64
    assert ids.min() >= 0
    assert ids.max() <= 2


def test_masks_keep_something_visible():
    g = graph([spec("mask", "bool", (8, 5)), spec("attention_mask", "int64", (8, 5))])
    feeds = generate(g, {}, sample="normal", seed=0)
    assert feeds["mask"].any(axis=1).all()
    assert set(np.unique(feeds["attention_mask"])) <= {0, 1}


def test_equal_seeds_give_equal_inputs_and_samples_differ():
    g = graph([spec("x")])
    one, two = (generate(g, {}, sample="normal", seed=3)["x"] for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, generate(g, {}, sample="uniform", seed=3)["x"])
    assert not np.array_equal(one, generate(g, {}, sample="normal", seed=4)["x"])


def test_dynamic_axes_by_word_by_the_other_side_or_by_default():
    known = {"batch": 5}
    assert concrete_shape(spec("x", shape=("batch", "seq", 4)), known) == (5, 16, 4)
    assert concrete_shape(spec("y", shape=("batch", "seq")), known) == (5, 16)
    assert concrete_shape(spec("z", shape=(None, "n")), {}, (3, 7)) == (3, 7)


def test_an_unknown_rank_needs_inputs():
    with pytest.raises(UsageError, match="rank"):
        generate(graph([spec("x", shape=None)]), {}, sample="normal", seed=0)


def test_lengths_stay_within_the_sequence():
    g = graph(
        [spec("x", shape=(6, 2, 4)), spec("lens", "int32", (2,))],
        [node("LSTM", ("x", "w", "r", "", "lens"), ("y",), layout=0)],
    )
    lens = generate(g, {}, sample="normal", seed=0)["lens"]
    assert lens.min() >= 3
    assert lens.max() <= 6


@pytest.mark.parametrize(
    ("shape", "dims"),
    [((1 << 40, 16), {}), (("a", 16), {"a": 1 << 40}), (("a", "a"), {"a": 1 << 70})],
)
def test_sizes_beyond_memory_are_refused_before_anything_is_drawn(shape, dims):
    with pytest.raises(RuntimeFailedError, match=r"do not fit into memory.*'x'") as refused:
        generate(graph([spec("x", shape=shape)]), dims, sample="normal", seed=0)
    assert refused.value.code == "OUT_OF_MEMORY"
    assert "GiB" in refused.value.why
