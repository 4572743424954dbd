"""Strides, dilations and pads, however a framework spells them."""

import pytest

from described_graphs import node
from isomorph.diffing.windows import window

ONE = {"strides": (2, 1), "dilations": (1, 1), "pads": (1, 0, 1, 0)}


@pytest.mark.parametrize("stated", [
    {"strides": (2, 1), "dilations": (1, 1), "pads": (1, 0, 1, 0), "auto_pad": "NOTSET"},
    {"stride": [2, 1], "dilation": [1, 1], "padding": [1, 0]},
    {"stride_height": 2, "stride_width": 1, "dilation_height": 1, "dilation_width": 1,
     "padding_top": 1, "padding_left": 0, "padding_bottom": 1, "padding_right": 0},
    {"window_strides": (2, 1), "rhs_dilation": (1, 1), "padding": ((1, 1), (0, 0))},
])  # fmt: skip
def test_one_window_in_many_spellings(stated):
    assert window(node("c", "Conv", "x w", **stated)) == ONE


def test_the_axes_of_batch_and_channels_are_left_out():
    stated = {"strides": (1, 2, 3, 1), "dilations": (1, 1, 1, 1), "padding": "VALID"}
    for order, strides in (("NHWC", (2, 3)), ("NCHW", (3, 1))):
        found = window(node("c", "Conv", "x w", data_format=order, **stated))
        assert found == {"strides": strides, "dilations": (1, 1), "pads": (0, 0, 0, 0)}


def test_pads_that_follow_from_the_input_are_unknown():
    assert window(node("c", "Conv", "x w", stride_h=2, stride_w=2, padding="SAME")) == {
        "strides": (2, 2)
    }
    assert "pads" not in window(node("c", "Conv", "x w", auto_pad="SAME_UPPER", pads=(0, 0)))


def test_other_operators_have_none():
    assert window(node("p", "Pad", "x", pads=(1, 1))) == {}
