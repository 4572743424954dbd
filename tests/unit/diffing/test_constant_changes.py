import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import api
from isomorph.diffing.constant_changes import difference_of_reals, difference_of_values


def test_the_arrangement_with_the_fewest_differences_counts():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    moved = values.transpose(2, 0, 1).copy()
    moved[1, 1, 2] += 3
    text = difference_of_values(values, moved)
    assert text == "1 of 24 elements differs, the largest by 3 (largest element 23)"


def test_values_that_are_no_numbers_differ():
    one = np.array([1.0, np.nan])
    assert difference_of_values(one, np.array([1.0, 2.0])).startswith("1 of 2 elements differs")


def test_other_numbers_everywhere():
    text = difference_of_values(np.zeros(5), np.ones(5))
    assert text.startswith("5 of 5 elements differ, the largest by 1")


def test_a_quantized_constant_is_compared_by_its_real_values():
    values = np.linspace(-1, 1, 24).reshape(4, 6)
    near = np.round(values.T / 0.1) * 0.1
    assert difference_of_reals(values, near, 0.1) == "quantized; all elements are within one step"
    near[0, 0] += 5
    text = difference_of_reals(values, near, 0.1)
    assert text == "quantized; 1 of 24 elements is more than one step (0.1) apart"


@pytest.mark.parametrize(
    ("count", "shown"), [(2, ("[0, 1] (float32)", "")), (6, ("float32 [6]", "1 of 6 elements"))]
)
def test_of_more_numbers_than_are_read_at_a_glance_it_is_stated_how_many_differ(count, shown):
    values = np.arange(count, dtype=np.float32)
    spec = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [count]) for name in "xy"]
    models = []
    for value in (values, values + np.eye(count, dtype=np.float32)[1]):
        node, constant = helper.make_node("Add", ["x", "b"], ["y"]), numpy_helper.from_array(value)
        constant.name = "b"
        graph = helper.make_graph([node], "g", spec[:1], spec[1:], [constant])
        opset = helper.make_opsetid("", 17)
        models.append(helper.make_model(graph, opset_imports=[opset], ir_version=9))
    (row,) = api.diff(*models, in_process=True).rows
    (change,) = row.changes
    assert change.reference == shown[0]
    assert change.detail.startswith(shown[1])
    assert bool(change.detail) == bool(shown[1])


@pytest.mark.parametrize(("bias", "detail"), [(0.0, "every element is 0"), (0.5, "")])
def test_a_constant_of_one_side_alone_that_holds_nothing_says_so(bias, detail):
    spec = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in "xy"]
    weight = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    zeros = numpy_helper.from_array(np.full(8, bias, np.float32), "b")
    models = []
    for inputs, constants in ((["x", "w", "b"], [weight, zeros]), (["x", "w"], [weight])):
        graph = helper.make_graph(
            [helper.make_node("Gemm", inputs, ["y"])], "g", spec[:1], spec[1:], constants
        )
        opset = helper.make_opsetid("", 17)
        models.append(helper.make_model(graph, opset_imports=[opset], ir_version=9))
    (row,) = api.diff(*models, in_process=True).rows
    (change,) = [each for each in row.changes if each.name == "b"]
    assert change.detail == detail
