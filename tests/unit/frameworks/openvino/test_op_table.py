"""Attributes are read by their neutral names, and written back as the file has them."""

import pytest

from isomorph.frameworks.openvino.op_table import OPERATORS


@pytest.mark.parametrize(
    ("operator", "data", "expected"),
    [
        ("Convolution", {"pads_begin": "0, 1", "pads_end": "2, 3"}, ("pads", (0, 1, 2, 3))),
        ("Convolution", {"auto_pad": "same_upper"}, ("auto_pad", "SAME_UPPER")),
        ("AvgPool", {"exclude-pad": "true"}, ("count_include_pad", 0)),
        ("AvgPool", {"rounding_type": "ceil"}, ("ceil_mode", 1)),
        ("Reshape", {"special_zero": "true"}, ("allowzero", 0)),
        ("MVN", {"eps": "0.0001"}, ("epsilon", 1e-4)),
        ("Gelu", {"approximation_mode": "TANH"}, ("approximate", "tanh")),
        ("Convert", {"destination_type": "f16"}, ("to", 10)),
        ("MatMul", {"transpose_b": "true"}, ("transpose_b", 1)),
    ],
)
def test_an_attribute_there_and_back(operator, data, expected):
    known = OPERATORS[operator]
    name, value = expected
    assert known.attributes(data)[name] == value
    field = next(each for each in known.fields if each.name == name)
    again = field.written(value)
    assert known.attributes(again)[name] == value
    assert set(again) == set(data)


def test_what_the_file_leaves_out_has_its_default():
    assert OPERATORS["Softmax"].attributes({})["axis"] == 1
    assert OPERATORS["HSigmoid"].attributes({})["beta"] == 0.5
