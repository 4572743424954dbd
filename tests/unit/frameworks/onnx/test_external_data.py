"""Weights beside the model: they never lead out of its folder, and are complete."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from isomorph.core.errors import IsomorphError, UsageError
from isomorph.frameworks.onnx.read import open_path, open_proto

VALUES = np.arange(16, dtype=np.float32).reshape(4, 4)


def referring(location, *, offset=None, length=None, dtype=TensorProto.FLOAT, dims=(4, 4)):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[2,4] x) => (float[2,4] y)'
        "{ y = MatMul(x, w) }"
    )
    tensor = proto.graph.initializer.add(name="w", data_type=dtype, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    stated = {"location": location, "offset": offset, "length": length}
    for key, value in stated.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    return proto


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "w.bin").write_bytes(VALUES.tobytes())
    (tmp_path / "secret.bin").write_bytes(VALUES.tobytes())
    return home


def opened(folder, proto, *, trusted=False):
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return open_path(path, trusted=trusted)


def refusal(folder, proto):
    with pytest.raises(IsomorphError) as caught:
        opened(folder, proto)
    return caught.value


@pytest.mark.parametrize(("offset", "length"), [(None, None), (0, 64), ("", "")])
def test_values_are_mapped_and_not_copied(folder, offset, length):
    array = opened(folder, referring("w.bin", offset=offset, length=length)).model.initializer("w")
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable
    assert np.array_equal(array, VALUES)


def test_a_large_tensor_is_mapped_once_and_packed_ones_are_not_held(folder, monkeypatch):
    from isomorph.frameworks.onnx import model

    monkeypatch.setattr(model, "_LARGE", 1)
    held = opened(folder, referring("w.bin")).model
    assert held.initializer("w") is held.initializer("w")
    assert np.array_equal(held.initializer("w"), VALUES)
    packed = referring("w.bin", dtype=TensorProto.INT4, dims=(128,))
    held = opened(folder, packed).model
    assert held.initializer("w") is not held.initializer("w")


def test_any_offset_will_do(folder):
    (folder / "w.bin").write_bytes(b"abc" + VALUES.tobytes() + b"d")
    array = opened(folder, referring("w.bin", offset=3)).model.initializer("w")
    assert np.array_equal(array, VALUES)


def test_packed_types_are_unpacked(folder):
    (folder / "w.bin").write_bytes(bytes([0x21, 0xF3, 0x0E]))
    proto = referring("w.bin", dtype=TensorProto.INT4, dims=(5,))
    array = opened(folder, proto).model.initializer("w")
    assert array.astype(int).tolist() == [1, 2, 3, -1, -2]


@pytest.mark.parametrize(
    "location",
    [
        "../secret.bin", "../../../../etc/passwd", "/etc/passwd", "C:\\x\\secret.bin", "c:secret",
        "\\\\host\\share\\w.bin", "a/../../secret.bin", "a\\..\\..\\secret.bin", "w.bin\0.txt",
    ],
)  # fmt: skip
def test_a_path_that_leads_out_is_refused(folder, location):
    error = refusal(folder, referring(location))
    assert (error.code, error.exit_code) == ("EXTERNAL_DATA_ESCAPE", 4)
    assert "'w'" in error.where


def test_a_symbolic_link_that_leads_out_is_refused(folder):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    assert refusal(folder, referring("link.bin")).code == "EXTERNAL_DATA_ESCAPE"
    (folder / "up").symlink_to(folder.parent)
    assert refusal(folder, referring("up/secret.bin")).code == "EXTERNAL_DATA_ESCAPE"


def test_a_symbolic_link_that_stays_inside_is_fine(folder):
    (folder / "link.bin").symlink_to("w.bin")
    assert np.array_equal(opened(folder, referring("link.bin")).model.initializer("w"), VALUES)


def test_a_link_that_loops_is_refused_without_hanging(folder):
    (folder / "loop").symlink_to("loop")
    assert refusal(folder, referring("loop")).exit_code in (2, 4)


def test_a_hard_link_needs_trust_and_is_noted_then(folder):
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    error = refusal(folder, referring("hard.bin"))
    assert (error.code, error.exit_code) == ("EXTERNAL_DATA_ESCAPE", 4)
    assert "--trust" in error.fix
    found = opened(folder, referring("hard.bin"), trusted=True)
    assert np.array_equal(found.model.initializer("w"), VALUES)
    assert "hard link" in found.notes[0]


def test_a_pipe_is_never_opened(folder):
    os.mkfifo(folder / "pipe")
    assert refusal(folder, referring("pipe")).exit_code == 4


@pytest.mark.parametrize(
    ("location", "offset", "stated"),
    [
        ("absent.bin", None, "missing"),
        ("short.bin", None, "expected 64 bytes at offset 0, the file has 3"),
        ("w.bin", 2**63 - 1, "expected 64 bytes"),
        ("w.bin", 1, "the file has 64"),
        ("w.bin", -4, "expected 64 bytes"),
        ("w.bin", "many", "not a number"),
        ("", None, "no location"),
    ],
)
def test_missing_and_short_files_report_expected_and_actual(folder, location, offset, stated):
    (folder / "short.bin").write_bytes(b"abc")
    error = refusal(folder, referring(location, offset=offset))
    assert (error.code, error.exit_code) == ("EXTERNAL_DATA_SHORT", 2)
    assert stated in error.what


def test_a_declared_length_that_contradicts_the_shape(folder):
    error = refusal(folder, referring("w.bin", length=60))
    assert error.code == "TENSOR_SIZE_MISMATCH"
    assert "declared 64 bytes, got 60" in error.what


def test_a_model_in_memory_has_no_folder():
    with pytest.raises(UsageError, match="another file"):
        open_proto(referring("w.bin"))
