"""What a path is, found without opening anything that could block."""

import errno
import os
import socket
from pathlib import Path

import pytest

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.store.safe_paths import (
    LeadsOutError,
    exists,
    head_of,
    kind_of,
    path_inside,
    require_file,
)


def code(function, *args, **more):
    with pytest.raises((UnreadableModelError, UsageError)) as caught:
        function(*args, **more)
    return caught.value.code


def test_files_and_folders_are_known_and_their_links_are_followed(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"0123456789")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert (kind_of(file), kind_of(link), kind_of(tmp_path)) == ("file", "file", "folder")
    assert head_of(link, 4) == b"0123"
    assert head_of(file, 100) == b"0123456789"


def test_a_pipe_a_socket_and_a_device_are_never_opened(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert code(head_of, pipe, 1) == "NOT_REGULAR_FILE"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert code(kind_of, tmp_path / "s") == "NOT_REGULAR_FILE"
    assert code(require_file, Path("/dev/null")) == "NOT_REGULAR_FILE"


def test_a_folder_is_no_file(tmp_path):
    assert code(require_file, tmp_path) == "NOT_REGULAR_FILE"


def test_each_reason_why_a_path_cannot_be_reached_has_its_code(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    file = tmp_path / "f"
    file.touch()
    assert code(kind_of, tmp_path / "none") == "FILE_NOT_FOUND"
    assert code(kind_of, file / "below") == "FILE_NOT_FOUND"
    assert code(kind_of, tmp_path / ("x" * 5000)) == "FILE_NOT_FOUND"
    assert code(kind_of, loop) == "PATH_LOOP"
    assert code(kind_of, tmp_path / "a\0b") == "FILE_UNREADABLE"


def test_the_words_of_the_system_are_given_where_they_add_something(tmp_path):
    file = tmp_path / "f"
    file.touch()
    reasons = []
    for path in (tmp_path / "none", file / "below"):
        with pytest.raises(UnreadableModelError) as caught:
            kind_of(path)
        reasons.append(caught.value.why)
    assert reasons == [None, os.strerror(errno.ENOTDIR)]


def test_the_error_is_of_the_class_that_the_caller_names(tmp_path):
    with pytest.raises(UsageError):
        kind_of(tmp_path / "none", error=UsageError)


def test_a_factory_that_is_written_as_a_path_is_explained(tmp_path):
    with pytest.raises(UnreadableModelError) as caught:
        kind_of(tmp_path / "model.py:make")
    assert "package.module:factory" in caught.value.fix


@pytest.mark.parametrize("name", ["none", "a\0b", "a" * 5000])
def test_what_cannot_be_a_name_does_not_exist(tmp_path, name):
    assert not exists(tmp_path / name)
    assert exists(tmp_path)


def test_a_misspelt_file_is_answered_with_the_one_that_is_there(tmp_path):
    (tmp_path / "candidate.onnx").write_bytes(b"x")
    with pytest.raises(UnreadableModelError) as raised:
        head_of(tmp_path / "candidat.onnx", 4)
    assert raised.value.fix == f"did you mean {tmp_path / 'candidate.onnx'}?"
    with pytest.raises(UnreadableModelError) as raised:
        head_of(tmp_path / "elsewhere" / "candidate.onnx", 4)
    assert raised.value.fix is None


@pytest.mark.parametrize("name", ["", "/x", "../x", "a/../../x", "C:\\x", "\\\\host\\x", "a\0b"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    with pytest.raises(LeadsOutError):
        path_inside(tmp_path, name)


def test_a_link_is_followed_where_it_stays_inside(tmp_path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.touch()
    (home / "file").touch()
    (home / "near").symlink_to(home / "file")
    (home / "far").symlink_to(outside)
    assert path_inside(home, "near") == home.resolve() / "file"
    with pytest.raises(LeadsOutError, match="symbolic link"):
        path_inside(home, "far")
