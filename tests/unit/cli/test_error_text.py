"""Every error in a terminal says what to do: in its own words, or in those of its code."""

import json
from importlib.resources import files

import pytest

from isomorph.cli.error_text import error_lines
from isomorph.core.errors import UsageError

CODES = json.loads(files("isomorph.diagnose").joinpath("codes.json").read_text("utf-8"))


def test_an_error_with_a_fix_keeps_it():
    error = UsageError("FILE_NOT_FOUND", "there is no such file:", file="a.onnx", fix="try b.onnx")
    assert error_lines(error) == error.lines


def test_an_error_without_a_fix_gets_that_of_its_code():
    error = UsageError("INPUTS_UNREADABLE", "no arrays", file="a.npz")
    *own, fix = error_lines(error)
    assert tuple(own) == error.lines
    assert fix == "  fix: give .npz, .npy or .safetensors"


def test_an_option_at_the_beginning_keeps_its_spelling():
    assert (
        error_lines(UsageError("UNKNOWN_NODE", "no node"))[-1]
        == "  fix: isomorph inspect lists them"
    )


def test_a_code_that_nobody_knows_is_shown_as_it_is():
    error = UsageError("OF_AN_EXTENSION", "its own words")
    assert error_lines(error) == error.lines


@pytest.mark.parametrize("code", sorted(k for k, v in CODES.items() if v["kind"] == "error"))
def test_every_code_of_an_error_says_what_to_do(code):
    assert error_lines(UsageError(code, "it happened"))[-1].removeprefix("  fix: ")
