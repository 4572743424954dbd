"""What onnx2tf is told, and what it tells of itself."""

from isomorph.converters._onnx2tf import _spellings, operators


def test_a_name_is_given_in_every_spelling_that_onnx2tf_makes_of_it():
    assert _spellings(["x"]) == ["x"]
    assert "onnx____Flatten_0" in _spellings(["onnx::Flatten_0"])
    assert "wa/a__b" in _spellings(["/a:b"])


def test_its_operators_are_the_modules_it_has():
    assert {"Conv", "LSTM", "Gather"} <= set(operators())
    assert "Frobnicate" not in operators()
