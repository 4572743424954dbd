import errno
import io
import os
import socket
import stat
import zipfile

import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.store import zip_safety
from isomorph.store.format_detection import (
    identify,
    is_factory,
    model_path,
    source_kind,
    suffix_note,
)
from isomorph.store.zip_safety import check_archive


def refusal(path, kind=UnreadableModelError):
    with pytest.raises(kind) as raised:
        identify(path)
    return raised.value


def written(path, data):
    path.write_bytes(data)
    return path


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.usefixtures("toy_plugin")
def test_a_framework_of_another_package_is_asked(model_file):
    assert identify(model_file()) == "toy_plugin"


def test_an_onnx_file_is_known_whatever_its_name(tmp_path):
    from onnx import TensorProto, helper

    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["x2"])], "g", [info], [])
    path = written(tmp_path / "m.pt", helper.make_model(graph).SerializeToString())
    assert identify(path) == "onnx"
    note = suffix_note(path, "onnx")
    assert "ends in .pt" in note
    assert "pytorch" in note
    assert suffix_note(tmp_path / "m.onnx", "onnx") is None
    assert suffix_note(tmp_path / "m.bin", "onnx") is None


@pytest.mark.parametrize(
    ("data", "code", "expected"),
    [
        (b"", "MODEL_EMPTY", "empty"),
        (b"<!DOCTYPE html><html>404</html>", "NOT_A_MODEL", "this is HTML"),
        (b"\xef\xbb\xbf\n <html lang=en>", "NOT_A_MODEL", "this is HTML"),
        (b"<?xml version='1.0'?><net/>", "NOT_A_MODEL", "this is XML"),
        (b'{"message": "Not Found"}', "NOT_A_MODEL", "this is JSON"),
        (b"%PDF-1.7 ...", "NOT_A_MODEL", "PDF"),
        (b"\x89PNG\r\n\x1a\n0000", "NOT_A_MODEL", "PNG"),
        (b"\x1f\x8b\x08\x00", "NOT_A_MODEL", "gzip"),
        ("Zugriff verweigert – ü\n".encode(), "NOT_A_MODEL", "plain text"),
        (b"\x93NUMPY\x01\x00v\x00{}", "NOT_A_MODEL", "NumPy array"),
        (b"\x02\0\0\0\0\0\0\0{}", "NOT_A_MODEL", "safetensors"),
        (b"PK\x03\x04 cut off here", "MODEL_TRUNCATED", "cut off or damaged"),
        (bytes(range(255, 128, -1)), "NOT_A_MODEL", "no framework recognizes"),
    ],
)
def test_what_is_no_model_is_called_what_it_is(tmp_path, data, code, expected):
    error = refusal(written(tmp_path / "model.onnx", data))
    assert error.code == code
    assert expected in error.what


def test_a_git_lfs_pointer_names_the_command(tmp_path):
    text = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    error = refusal(written(tmp_path / "m.onnx", text))
    assert error.code == "LFS_POINTER"
    assert error.fix == "run git lfs pull"


def test_files_of_keras_and_saved_models_are_known_by_what_they_hold(tmp_path):
    names = {"config.json": "{}", "metadata.json": "{}", "model.weights.h5": ""}
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"x")
    hdf5 = written(tmp_path / "m.onnx", b"\x89HDF\r\n\x1a\n\0\0")
    for path in (zipped(tmp_path / "m.keras", names), folder, hdf5):
        assert identify(path) == "tensorflow"
    assert ".npz" in refusal(zipped(tmp_path / "a.npz", {"x.npy": b""})).what
    assert "zip archive" in refusal(zipped(tmp_path / "b.pt", {"readme": b""})).what


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "socket", tmp_path / "link"):
        if path.name == "link":
            path.symlink_to("/dev/zero")
        assert refusal(path).code == "NOT_REGULAR_FILE"
    listening.close()


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert refusal(tmp_path / "loop").code == "PATH_LOOP"
    assert refusal(tmp_path / "missing").code == "FILE_NOT_FOUND"
    assert refusal(tmp_path / ("x" * 300)).code == "FILE_NOT_FOUND"
    assert refusal(tmp_path / "a\0b").code == "FILE_UNREADABLE"
    (tmp_path / "file").write_bytes(b"x")
    assert refusal(tmp_path / "file" / "below").code == "FILE_NOT_FOUND"


def test_a_forbidden_file(tmp_path, monkeypatch):
    path = written(tmp_path / "m.onnx", b"x")

    def forbid(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    # Simulated, because nothing is forbidden to root.
    monkeypatch.setattr(os, "open", forbid)
    assert refusal(path).code == "PERMISSION_DENIED"


def test_a_zip_bomb_is_refused_from_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(zip_safety, "BOMB_BYTES", 1 << 20)
    path = zipped(tmp_path / "m.pt", {"a": bytes(4 << 20)}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 8192
    error = refusal(path, RefusedError)
    assert error.code == "ARCHIVE_BOMB"
    assert str(4 << 20) in error.why


def test_members_that_share_bytes_are_a_bomb(tmp_path):
    # One body, listed twice in the directory, each time with another name.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", b"0" * 1000)
        copy = zipfile.ZipInfo("b")
        for field in ("CRC", "compress_size", "file_size", "header_offset", "compress_type"):
            setattr(copy, field, getattr(archive.filelist[0], field))
        archive.filelist.append(copy)
        archive._didModify = True
    error = refusal(written(tmp_path / "m.pt", stream.getvalue()), RefusedError)
    assert error.code == "ARCHIVE_BOMB"
    assert "shares its bytes" in error.why


def test_a_directory_that_is_itself_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(zip_safety, "DIRECTORY_BYTES", 1000)
    path = zipped(tmp_path / "m.pt", {f"member {i}": b"" for i in range(100)})
    assert refusal(path, RefusedError).code == "ARCHIVE_BOMB"


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/x", "a/../../b", "..\\x", "C:\\x", "\\\\host\\share", "a/.."]
)
def test_members_that_would_leave_the_archive(tmp_path, name):
    error = refusal(zipped(tmp_path / "m.pt", {"ok": b"", name: b""}), RefusedError)
    assert error.code == "ARCHIVE_TRAVERSAL"
    assert repr(name) in error.where


def test_duplicate_and_linked_members(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"2")
    assert refusal(tmp_path / "m.pt", RefusedError).code == "ARCHIVE_TRAVERSAL"
    link = zipfile.ZipInfo("l")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "n.pt", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "symbolic link" in refusal(tmp_path / "n.pt", RefusedError).why


def test_an_honest_archive_passes(tmp_path):
    noise = np.random.default_rng(0).bytes(10_000)
    members = {"m/data.pkl": b"x", "m/data/0": noise, "m/": b"", "m/zeros": bytes(1 << 20)}
    path = zipped(tmp_path / "m.pt", members, compression=zipfile.ZIP_DEFLATED)
    assert check_archive(path) == tuple(members)


def test_what_a_word_stands_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "a.npz", x=np.ones(2))
    np.save(tmp_path / "a.npy", np.ones(2))
    written(tmp_path / "m.onnx", b"\x08\x07")
    assert source_kind("package.module:factory") == "factory"
    assert source_kind("a.npz") == source_kind(tmp_path / "a.npy") == "recorded"
    assert source_kind("m.onnx") == source_kind("missing.onnx") == "file"
    assert source_kind("C:/models/m.onnx") == "file"
    assert source_kind("a\0b") == "file"
    assert source_kind(object()) == "live"
    written(tmp_path / "odd:name", b"x")
    assert not is_factory("odd:name"), "a file of that name comes first"
    assert not is_factory("a b:c")


def test_a_file_with_a_factory_in_it_is_no_path(tmp_path):
    error = refusal(tmp_path / "net.py:make")
    assert (error.code, "package.module:factory" in error.fix) == ("FILE_NOT_FOUND", True)


def test_a_folder_with_one_model_stands_for_it(tmp_path):
    written(tmp_path / "config.json", b"{}")
    assert model_path(tmp_path) == tmp_path, "there is none"
    model = written(tmp_path / "model.onnx", b"\x08\x07")
    assert model_path(tmp_path) == model
    assert model_path(model) == model
    written(tmp_path / "other.pt2", b"PK")
    with pytest.raises(UnreadableModelError) as refused:
        model_path(tmp_path)
    assert refused.value.code == "SEVERAL_MODELS"
    assert "model.onnx, other.pt2" in refused.value.why


def test_a_folder_that_is_a_model_is_not_looked_into(tmp_path):
    written(tmp_path / "saved_model.pb", b"x")
    (tmp_path / "variables").mkdir()
    assert model_path(tmp_path) == tmp_path


def test_a_folder_of_transformers_is_a_model(tmp_path):
    written(tmp_path / "config.json", b"{}")
    written(tmp_path / "model-00001-of-00002.safetensors", b"x")
    assert model_path(tmp_path) == tmp_path
    assert identify(tmp_path) == "pytorch"
