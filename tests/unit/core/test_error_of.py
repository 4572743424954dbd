"""Errors get their texts from the catalog, and their facts from where they are raised."""

import pytest

from isomorph.core.error_of import error_of
from isomorph.core.errors import RefusedError, UsageError


def test_the_code_is_the_beginning_of_the_key():
    error = error_of(UsageError, "BAD_OPTION.decode_one")
    assert isinstance(error, UsageError)
    assert error.code == "BAD_OPTION"
    assert error.what == "--decode compares two models, and one is given"
    assert (error.why, error.fix) == (None, "name the candidate as well")


def test_the_class_decides_the_exit_code():
    error = error_of(RefusedError, "OPS_NEED_TRUST.module", module="ops.py")
    assert (error.exit_code, error.what) == (4, "--ops ops.py would run code")
    assert error.why == "importing a module runs whatever it holds"


def test_a_file_stands_where_it_does_in_every_error():
    error = error_of(UsageError, "FILE_NOT_FOUND.reports", file="reports")
    assert error.sentence == "there is no such file or folder: reports"


def test_a_fact_may_have_the_name_of_an_argument():
    error = error_of(UsageError, "UNKNOWN_NAME.extension", kind="runtime", name="x", known="y")
    assert error.what == "there is no runtime 'x'"


def test_a_missing_fact_is_an_error_of_ours():
    with pytest.raises(KeyError):
        error_of(UsageError, "BAD_OPTION.word", flag="--dim")
