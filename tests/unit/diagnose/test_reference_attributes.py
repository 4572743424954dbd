"""What the reference states, in the form that the candidate's node takes."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.diagnose.reference_attributes import _fitted, equal, stated_attributes
from one_node_graphs import made


@pytest.mark.parametrize("vector", [(1, 2, 2, 1), (1, 1, 2, 2)])
def test_a_vector_with_batch_and_channels_means_the_same_as_one_without(vector):
    reference, there = made("Conv", "Conv2D", strides=vector)
    for strides, other in (((2, 2), []), ((1, 1), [("strides", (2, 2))])):
        graph, node = made("Conv", "Conv", strides=strides)
        context = SimpleNamespace(candidate=graph, reference=reference, counterparts=(there,))
        assert [each for each in stated_attributes(context, node) if each[0] == "strides"] == other


@pytest.mark.parametrize(
    ("ref_value", "now", "meant"),
    [
        ((1, 2), (0, 0, 0, 0), (1, 2, 1, 2)),
        (3, (1, 1), (3, 3)),
        (True, 0, 1),
        (1, 0.5, 1.0),
        ((2,), 1, 2),
        ("reflect", 3, None),
        ("reflect", "edge", "reflect"),
        ((1, 2), 5, None),
    ],
)
def test_a_value_takes_the_form_of_the_one_it_replaces(ref_value, now, meant):
    assert _fitted(ref_value, now) == meant


def test_storage_in_float32_is_no_difference():
    assert equal(float(np.float32(1e-5)), 1e-5)
    assert not equal(1e-5, 1.001e-5)
    assert equal((1, 2), [1, 2])
    assert not equal((1, 2), (1, 2, 3))
