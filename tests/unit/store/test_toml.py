"""What is no TOML that can be used is an error with its place, however it is wrong."""

import os

import pytest

from isomorph.core.errors import UsageError
from isomorph.store import toml


def refused(path):
    with pytest.raises(UsageError) as caught:
        toml.read(path)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000,
        "a = " + "9" * 5000,
        "a = 0x" + "f" * 20,
        "a = [{ b = 0x" + "f" * 5000 + " }]",
        "a = ",
        "\udc80",
    ],
    ids=["depth", "digits", "bits", "bits_inside", "syntax", "encoding"],
)
def test_what_tomllib_fails_on_is_no_toml(tmp_path, text):
    path = tmp_path / "a.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    error = refused(path)
    assert (error.code, error.file) == ("CONFIG_INVALID", str(path))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.toml")
    assert refused(tmp_path / "a.toml").code == "NOT_REGULAR_FILE"


def test_a_missing_file_is_unreadable(tmp_path):
    assert refused(tmp_path / "none.toml").code == "CONFIG_UNREADABLE"


def test_integers_of_64_bits_are_read(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("a = 9223372036854775807\nb = -9223372036854775808")
    assert toml.read(path) == {"a": 2**63 - 1, "b": -(2**63)}


def test_a_value_of_another_type_is_shown_in_part(tmp_path):
    error = toml.wrong_type("pairs", [{"name": "a" * 500}], "tables", file=tmp_path, where="top")
    assert len(str(error)) < 300
    assert "pairs is [{" in str(error)
