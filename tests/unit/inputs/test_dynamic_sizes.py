"""Sizes a little above the given ones, for a search."""

import pytest

from isomorph.core.model import Graph, TensorSpec
from isomorph.core.stated_numbers import SIZE_STEPS
from isomorph.inputs.dynamic_sizes import next_sizes, other_sizes, over_caches


def graph(**shapes):
    inputs = tuple(
        TensorSpec(name=name, dtype="float32", shape=each) for name, each in shapes.items()
    )
    return Graph(name="g", inputs=inputs, outputs=(), nodes=(), constants={}, tensors={})


@pytest.mark.parametrize(
    ("shape", "given", "first"),
    [
        (("n", 3, "h", "w"), (1, 3, 8, 6), {"n": 1, "h": 9, "w": 7}),
        (("n", "s", "s"), (2, 4, 4), {"n": 2, "s": 5}),
        (("n", 3), (2, 3), {"n": 3}),
    ],
)
def test_free_axes_grow_together_and_the_batch_stays(shape, given, first):
    sizes = list(next_sizes(graph(x=shape), {"x": given}))
    assert sizes[0] == first
    assert len(sizes) == len(SIZE_STEPS)


@pytest.mark.parametrize("shape", [(2, 3), None])
def test_a_graph_without_dynamic_axes_has_none(shape):
    assert not list(next_sizes(graph(x=shape), {"x": (2, 3)}))


def decoder(**shapes):
    """Integers, but for inputs of more than two axes."""
    inputs = tuple(
        TensorSpec(name=name, dtype="float32" if len(each) > 2 else "int64", shape=each)
        for name, each in shapes.items()
    )
    return Graph(name="g", inputs=inputs, outputs=(), nodes=(), constants={}, tensors={})


CACHED = {"input_ids": ("b", "t"), "past": ("b", 2, "p", 8), "attention_mask": ("b", "m")}


def test_a_mask_of_a_decoder_reaches_over_its_caches_and_tokens():
    sizes = {"b": 2, "t": 5, "p": 7, "m": 16}
    assert over_caches(decoder(**CACHED), sizes) == {**sizes, "m": 12}


@pytest.mark.parametrize(
    "shapes",
    [
        {**CACHED, "attention_mask": ("b", "t")},
        {**CACHED, "attention_mask": ("b", "p")},
        {**CACHED, "past": ("b", 2, 4, 8)},
        {**CACHED, "further": ("b", "q", 8)},
        {key: CACHED[key] for key in ("past", "attention_mask")},
    ],
    ids=["of tokens", "of caches", "caches of one size", "axes of two sizes", "no tokens"],
)
def test_other_sizes_stay(shapes):
    sizes = {"b": 2, "t": 5, "p": 7, "m": 16, "q": 3}
    assert over_caches(decoder(**shapes), sizes) == sizes


def test_the_mask_keeps_its_size_where_only_the_batch_changes():
    batches = other_sizes(decoder(**CACHED), {}, {}, None)
    assert batches[0] == {"b": 1, "m": 32}
    assert batches[-1] == {"t": 32, "p": 32, "m": 64}
