"""What a parameter could be instead: pads split otherwise, other parts of a slice."""

from types import SimpleNamespace

import pytest

from isomorph.diagnose.parameter_values import _pads, alternatives, shifted_slices
from one_node_graphs import made, stored


def test_a_border_that_is_split_otherwise_along_two_axes_at_once():
    graph, node = made("Pad", "PAD", stored("p", 0, 0, 0, 2, 0, 2, 0, 0))
    tried = alternatives(SimpleNamespace(candidate=graph), node, 4)["paddings"]
    assert tried[0] == (0, 0, 1, 1, 1, 1, 0, 0)
    assert (0, 0, 2, 0, 1, 1, 0, 0) in tried


def test_what_a_maximum_does_not_see_may_stand_around():
    graph, node = made("Pad", "PADV2", stored("p", 1, 1), stored("v", 7.0))
    tried = alternatives(SimpleNamespace(candidate=graph), node, 1)["constant_value"]
    assert tried == [0.0, float("-inf")]


@pytest.mark.parametrize(
    ("native", "bounds", "right"),
    [
        ("SLICE", (stored("b", 0, 8), stored("s", 4, 16)), {"begin": (0, 0)}),
        ("SLICE", (stored("b", 0, 16), stored("s", 4, 16)), {"begin": (0, 32)}),
        ("STRIDED_SLICE", (stored("b", 0, 1), stored("e", 4, 2)), {"begin": (0, 0), "end": (4, 1)}),
        ("Slice", (stored("b", 3), stored("e", 6)), {"starts": (0,), "ends": (3,)}),
    ],
)
def test_a_slice_may_have_taken_another_part_of_the_same_length(native, bounds, right):
    graph, node = made("Slice", native, *bounds)
    assert right in list(shifted_slices(SimpleNamespace(candidate=graph), node))


def test_an_open_end_has_no_length():
    graph, node = made("Slice", "Slice", stored("b", 3), stored("e", 2**63 - 1))
    assert not list(shifted_slices(SimpleNamespace(candidate=graph), node))


def test_pads_keep_their_total_and_the_even_split_comes_first():
    found = _pads((2, 2, 0, 0))
    assert found[0] == (1, 1, 1, 1)
    assert (0, 2, 2, 0) in found
    assert len(found) == len(set(found))
