"""What a parameter could be instead, and what the reference's means in the candidate's words."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.model import Constant, Graph, Node
from isomorph.diagnose.node_constants import constants_of_equal_size
from isomorph.diagnose.parameter_values import alternatives, shifted_slices
from isomorph.diagnose.parameters import parameter
from isomorph.diagnose.reference_attributes import stated_attributes
from isomorph.match.value_match import weight_arrangements


def stored(name, *values):
    shape = (len(values),)
    return Constant(
        name=name, dtype="int32", shape=shape, digest=name, value_digest=name, values=values
    )


def made(op, native, *constants, **attributes):
    names = ("x", *(each.name for each in constants))
    node = Node(
        name=native, op=op, native_op=native, inputs=names, outputs=("y",), attributes=attributes
    )
    graph = Graph(
        name="g",
        inputs=(),
        outputs=(),
        nodes=(node,),
        tensors={},
        constants={each.name: each for each in constants},
        framework="tflite" if native.isupper() else "onnx",
    )
    return graph, node


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


@pytest.mark.parametrize("vector", [(1, 2, 2, 1), (1, 1, 2, 2)])
def test_a_vector_with_batch_and_channels_means_the_same_as_one_without(vector):
    reference, there = made("Conv", "Conv2D", strides=vector)
    for strides, other in (((2, 2), []), ((1, 1), [("strides", (2, 2))])):
        graph, node = made("Conv", "Conv", strides=strides)
        context = SimpleNamespace(candidate=graph, reference=reference, counterparts=(there,))
        assert [each for each in stated_attributes(context, node) if each[0] == "strides"] == other


def test_a_kernel_by_channel_and_multiplier_as_one_row_of_channels():
    kernel = np.arange(3 * 3 * 4 * 2).reshape(3, 3, 4, 2)
    wanted = kernel.transpose(2, 3, 0, 1).reshape(8, 1, 3, 3)
    assert any(np.array_equal(each, wanted) for each in weight_arrangements(kernel, (8, 1, 3, 3)))


def test_who_divides_there_multiplies_here_by_the_inverse():
    def number(name):
        return Constant(name=name, dtype="float32", shape=(1,), digest=name, value_digest=name)

    candidate, cand = made("Mul", "MUL", number("m"))
    reference, ref = made("Div", "RealDiv", number("d"))
    context = SimpleNamespace(
        candidate=candidate,
        reference=reference,
        nodes=(cand,),
        counterparts=(ref,),
        constant=lambda *_: np.array([4.0]),
    )
    assert [float(value[0]) for _, value in constants_of_equal_size(context, "m")] == [4.0, 0.25]


def test_of_two_flags_that_exclude_each_other_one_is_taken_back():
    graph, node = made("Resize", "RESIZE_BILINEAR", half_pixel_centers=True, align_corners=False)
    edits = parameter(SimpleNamespace(candidate=graph), node, "align_corners", True)
    values = {edit.name: edit.value for edit in edits}
    assert values == {"align_corners": True, "half_pixel_centers": False}
