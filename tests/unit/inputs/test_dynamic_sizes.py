"""Sizes a little above the given ones, for a search."""

import pytest

from isomorph.core.model import Graph, TensorSpec
from isomorph.core.stated_numbers import SIZE_STEPS
from isomorph.inputs.dynamic_sizes import next_sizes


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
