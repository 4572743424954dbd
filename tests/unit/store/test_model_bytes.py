"""A model is one file or its bytes; a copy never replaces what it was made from."""

import os

import pytest

from isomorph.core.errors import IsomorphError, RefusedError, UnreadableModelError, UsageError
from isomorph.store.model_bytes import mapped, opened, write_copy


def read(data, *, file, path=None):
    return bytes(data), file, path


def test_a_path_and_bytes_are_read_alike(tmp_path):
    path = tmp_path / "m.bin"
    path.write_bytes(b"model")
    assert opened(path, read, framework="f", suffix=".bin") == (
        (b"model", str(path), path), str(path),
    )  # fmt: skip
    found, location = opened(bytearray(b"model"), read, framework="f", suffix=".bin")
    assert found == (b"model", "bytes in memory", None)
    assert location == "bytes in memory"


@pytest.mark.parametrize("source", ["empty.bin", b""])
def test_nothing_is_no_model(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.bin").touch()
    with pytest.raises(UnreadableModelError) as caught:
        opened(source, read, framework="f", suffix=".bin")
    assert caught.value.code == "MODEL_EMPTY"
    assert mapped(tmp_path / "empty.bin", empty=b"none") == b"none"


def test_something_else_is_refused():
    with pytest.raises(UsageError, match=r"'f' cannot read a list"):
        opened([], read, framework="f", suffix=".bin")


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsomorphError) as caught:
        mapped(tmp_path / "pipe")
    assert caught.value.code == "NOT_REGULAR_FILE"


def test_a_copy_never_replaces_its_sources(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    with pytest.raises(RefusedError):
        write_copy(b"3", other, one, other)
    assert other.read_bytes() == b"2"
    assert write_copy(b"3", tmp_path / "new", one, None).read_bytes() == b"3"
