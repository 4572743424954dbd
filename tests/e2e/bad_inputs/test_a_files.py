"""A: files that cannot be read, or are not what their name says."""

import os
import random
import socket

import numpy as np
import onnx
import pytest

from making import dense, model, save, value


def test_a01_cut_at_two_thirds(isomorph, tmp_path):
    data = dense().SerializeToString()
    cut = len(data) * 2 // 3
    (tmp_path / "m.onnx").write_bytes(data[:cut])
    isomorph("check", "m.onnx").refused(
        "MODEL_TRUNCATED", file="m.onnx", mentions=(f"{cut} bytes", "byte ")
    )


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a01_torch_archive_cut(isomorph, tmp_path, exported, share):
    data = exported.read_bytes()
    (tmp_path / "m.pt2").write_bytes(data[: int(len(data) * share)])
    isomorph("check", "m.pt2").refused("MODEL_TRUNCATED", file="m.pt2")


@pytest.mark.parametrize("name", ["m.onnx", "m.pt2"])
def test_a02_empty(isomorph, tmp_path, name):
    (tmp_path / name).touch()
    isomorph("check", name).refused("MODEL_EMPTY", file=name)


@pytest.mark.parametrize("name", ["m.onnx", "m.pt"])
def test_a03_html_page(isomorph, tmp_path, name):
    (tmp_path / name).write_text("<!DOCTYPE html><html><title>404 Not Found</title></html>\n")
    isomorph("check", name).refused("NOT_A_MODEL", file=name, mentions=("this is HTML",))


def test_a04_git_lfs_pointer(isomorph, tmp_path):
    (tmp_path / "m.onnx").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"
    )
    isomorph("check", "m.onnx").refused("LFS_POINTER", file="m.onnx", mentions=("git lfs pull",))


def test_a05_onnx_named_as_torch_is_read_as_onnx_and_noted(isomorph, tmp_path):
    save(tmp_path / "m.pt", dense())
    ran = isomorph("check", "m.pt", "--format", "json")
    assert ran.exit == 0
    (summary,) = ran.report["models"]
    assert summary["framework"] == "onnx"
    assert any(".pt" in note and "content is onnx" in note for note in summary["notes"])


def test_a05_torch_named_as_onnx_is_read_as_torch(isomorph, tmp_path, exported):
    (tmp_path / "m.onnx").write_bytes(exported.read_bytes())
    ran = isomorph("check", "m.onnx", "--format", "json")
    assert ran.exit == 0, ran
    (summary,) = ran.report["models"]
    assert summary["framework"] == "pytorch"
    assert any(".onnx" in note for note in summary["notes"])


def test_a05_tflite_bytes_named_as_onnx(isomorph, tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"\x1c\0\0\0TFL3" + bytes(64))
    ran = isomorph("check", "m.onnx")
    assert ran.exit == 2
    assert "NOT_A_MODEL" not in ran.err, "it is a model, though not an ONNX one"


def test_a05_zip_of_something_else_named_as_torch(isomorph, tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "m.pt", "w") as archive:
        archive.writestr("letter.txt", "no model")
    isomorph("check", "m.pt").refused("NOT_A_MODEL", file="m.pt", mentions=("zip archive",))


def _flipped(data, seed):
    draw = random.Random(seed)
    spoiled = bytearray(data)
    for place in draw.sample(range(len(data)), 6):
        spoiled[place] ^= draw.randrange(1, 256)
    return bytes(spoiled)


@pytest.mark.parametrize("seed", range(8))
def test_a07_flipped_bytes_are_an_error_or_another_digest(isomorph, tmp_path, seed):
    """Neither a crash nor the same identity, whatever six bytes say now."""
    data = dense().SerializeToString()
    (tmp_path / "right.onnx").write_bytes(data)
    (tmp_path / "flipped.onnx").write_bytes(_flipped(data, seed))
    ran = isomorph("check", "right.onnx", "flipped.onnx", "--format", "json")
    if ran.exit in (2, 4) or not ran.out:
        assert ran.message
        return
    digests = [summary["digest"] for summary in ran.report["models"]]
    assert digests[0] != digests[1]


@pytest.mark.parametrize("seed", range(3))
def test_a07_flipped_bytes_of_a_torch_program(isomorph, tmp_path, exported, seed):
    (tmp_path / "m.pt2").write_bytes(_flipped(exported.read_bytes(), seed))
    ran = isomorph("check", exported, "m.pt2", "--format", "json")
    if ran.exit in (2, 4) or not ran.out:
        assert ran.message
        return
    digests = [summary["digest"] for summary in ran.report["models"]]
    assert digests[0] != digests[1]


def test_a08_no_graph(isomorph, tmp_path):
    empty = onnx.ModelProto(ir_version=10, producer_name="nobody")
    save(tmp_path / "m.onnx", empty)
    isomorph("check", "m.onnx").refused("NO_GRAPH", file="m.onnx")


def test_a08_no_nodes_is_a_model_all_the_same(isomorph, tmp_path):
    through = model([], [value("x", [2, 3])], [value("x", [2, 3])])
    save(tmp_path / "m.onnx", through)
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit == 0
    (output,) = ran.report["outputs"]
    assert output["observed"]["distance"]["compared"] == 6


@pytest.mark.parametrize(
    ("opset", "ir", "expected"), [(99, 10, "opset 99"), (18, 99, "IR version 99")]
)
def test_a09_from_the_future(isomorph, tmp_path, opset, ir, expected):
    made = dense()
    made.ir_version = ir
    made.opset_import[0].version = opset
    save(tmp_path / "m.onnx", made)
    isomorph("check", "m.onnx").refused(
        "OPSET_TOO_NEW", file="m.onnx", mentions=(expected, "onnxruntime", "supports opset")
    )


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "socket"])
def test_a10_not_a_regular_file(isomorph, tmp_path, kind, monkeypatch):
    path = tmp_path / "m.onnx"
    monkeypatch.chdir(tmp_path)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = "/dev/zero"
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("m.onnx")
    isomorph("check", path).refused("NOT_REGULAR_FILE", file=str(path))


@pytest.mark.parametrize("side", ["inputs", "reference"])
def test_a10_a_pipe_of_arrays_is_not_waited_for(isomorph, tmp_path, side):
    save(tmp_path / "m.onnx", dense())
    os.mkfifo(tmp_path / "a.npz")
    words = ("m.onnx", "--inputs", "a.npz") if side == "inputs" else ("a.npz", "m.onnx")
    isomorph("check", *words).refused("NOT_REGULAR_FILE", file="a.npz")


def test_a10_no_such_file(isomorph):
    isomorph("check", "nowhere.onnx").refused("FILE_NOT_FOUND", file="nowhere.onnx")


def test_inputs_that_are_no_arrays(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "x.npz").write_bytes(b"not arrays at all")
    isomorph("check", "m.onnx", "--inputs", "x.npz").refused("INPUTS_UNREADABLE", file="x.npz")


def test_inputs_with_pickled_objects_are_not_unpickled(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.savez(tmp_path / "x.npz", x=np.array([Trap()], dtype=object))
    ran = isomorph("check", "m.onnx", "--inputs", "x.npz")
    ran.refused("UNSAFE_PICKLE", exit_code=4, file="x.npz", mentions=("array",))
    assert not (tmp_path / "sprung").exists()
