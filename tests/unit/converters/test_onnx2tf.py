"""The options that onnx2tf gets, and the operators that it lists."""

from importlib.util import find_spec

import pytest

from isomorph.converters._onnx2tf import _spellings, operators, pseudo_operators


def test_a_name_is_given_in_every_spelling_that_onnx2tf_makes_of_it():
    assert _spellings(["x"]) == ["x"]
    assert "onnx____Flatten_0" in _spellings(["onnx::Flatten_0"])
    assert "wa/a__b" in _spellings(["/a:b"])


def test_its_operators_are_the_modules_it_has():
    assert {"Conv", "LSTM", "Gather"} <= set(operators())
    assert "Frobnicate" not in operators()


@pytest.mark.skipif(find_spec("onnx2tf") is None, reason="onnx2tf is not installed")
def test_formulas_are_for_what_tflite_has_no_kernel_for():
    found = pseudo_operators()
    assert "acos" in found
    # onnx2tf knows formulas for these as well, and TFLite computes them itself.
    assert not {"abs", "leakyrelu", "hardswish"} & set(found)
