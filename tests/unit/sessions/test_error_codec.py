"""Errors that cross from a worker read as they did there."""

import pytest

from isomorph.core.errors import MissingDependencyError, RefusedError, UnreadableModelError
from isomorph.sessions.error_codec import from_data, to_data


@pytest.mark.parametrize("what", ["the file is empty:", "unknown key 'y'"])
def test_the_sentence_is_the_same_on_both_sides(what):
    error = UnreadableModelError("MODEL_EMPTY", what, file="a.onnx", why="0 bytes", fix="again")
    back = from_data(to_data(error))
    assert type(back) is UnreadableModelError
    assert (back.lines, back.what, back.file) == (error.lines, error.what, error.file)


def test_the_class_decides_the_exit_code_on_the_other_side_as_well():
    assert from_data(to_data(RefusedError("UNSAFE_PICKLE", "would run code"))).exit_code == 4


def test_a_missing_package_stays_one():
    back = from_data(to_data(MissingDependencyError("onnx", extra="onnx", needed_for="this")))
    assert isinstance(back, MissingDependencyError)
    assert (back.package, back.extra) == ("onnx", "onnx")
