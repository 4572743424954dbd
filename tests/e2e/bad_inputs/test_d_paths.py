"""D: paths that lead elsewhere, in the model, on the command line and in tensor names."""

import itertools
import json
import os
import shutil

import numpy as np
import pytest

from making import dense, external, matrix, model, node, save, stored, value

SECRET = "not for you"


def _with_data_at(folder, location, **place):
    made = dense()
    external(made.graph.initializer[0], location, **place)
    return save(folder / "m.onnx", made)


@pytest.fixture
def folder(tmp_path):
    """A model's folder with a secret of the right size beside it, not in it."""
    inside = tmp_path / "models"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(SECRET.encode().ljust(64))
    return inside


@pytest.mark.parametrize(
    "location",
    [
        "../../../../../../../../etc/passwd", "../secret", "/etc/passwd", "C:\\windows\\win.ini",
        "\\\\host\\share\\w", "a/../../secret", "w\0.bin", "..\\secret",
    ],
)  # fmt: skip
def test_d01_d02_external_data_elsewhere(isomorph, folder, location):
    _with_data_at(folder, location)
    ran = isomorph("check", "models/m.onnx")
    message = ran.refused(
        "EXTERNAL_DATA_ESCAPE", exit_code=4, file="models/m.onnx", mentions=("'w'",)
    )
    assert SECRET not in message


def test_d02_external_data_that_is_absolute_is_not_opened(isomorph, folder, tmp_path):
    """A pipe would be waited for, if anybody opened it."""
    os.mkfifo(tmp_path / "pipe")
    _with_data_at(folder, str(tmp_path / "pipe"))
    ran = isomorph("check", "models/m.onnx", within=60)
    ran.refused("EXTERNAL_DATA_ESCAPE", exit_code=4)


@pytest.mark.parametrize("kind", ["file", "parent", "pipe"])
def test_d03_links_that_lead_out(isomorph, folder, tmp_path, kind):
    if kind == "file":
        (folder / "w.bin").symlink_to(tmp_path / "secret")
        location = "w.bin"
    elif kind == "parent":
        (folder / "sub").symlink_to(tmp_path, target_is_directory=True)
        location = "sub/secret"
    else:
        os.mkfifo(folder / "w.bin")
        location = "w.bin"
    _with_data_at(folder, location)
    ran = isomorph("check", "models/m.onnx", within=60)
    ran.refused("EXTERNAL_DATA_ESCAPE", exit_code=4, file="models/m.onnx")


def test_d03_a_link_that_stays_inside_is_followed(isomorph, folder):
    (folder / "blobs").mkdir()
    (folder / "blobs" / "w").write_bytes(matrix().tobytes())
    (folder / "w.bin").symlink_to("blobs/w")
    _with_data_at(folder, "w.bin")
    assert isomorph("check", "models/m.onnx").exit == 0


def test_d04_hard_link(isomorph, folder, tmp_path):
    (tmp_path / "elsewhere").write_bytes(matrix().tobytes())
    (folder / "w.bin").hardlink_to(tmp_path / "elsewhere")
    _with_data_at(folder, "w.bin")
    ran = isomorph("check", "models/m.onnx")
    ran.refused("EXTERNAL_DATA_ESCAPE", exit_code=4, mentions=("hard link", "--trust"))
    trusted = isomorph("check", "models/m.onnx", "--trust", "--format", "json")
    assert trusted.exit == 0
    (summary,) = trusted.report["models"]
    assert any("hard link" in note for note in summary["notes"])


@pytest.mark.parametrize(
    ("content", "place", "expected"),
    [
        (None, {}, ("missing",)),
        (b"abc", {}, ("64", "3")),
        (bytes(64), {"offset": 2**63 - 1}, ("64", str(2**63 - 1))),
        (bytes(64), {"offset": -4}, ("-4",)),
        (bytes(64), {"offset": 1}, ("offset 1",)),
    ],
)
def test_d05_external_data_short(isomorph, folder, content, place, expected):
    if content is not None:
        (folder / "w.bin").write_bytes(content)
    _with_data_at(folder, "w.bin", **place)
    ran = isomorph("check", "models/m.onnx")
    ran.refused("EXTERNAL_DATA_SHORT", file="models/m.onnx", mentions=expected)


HOSTILE = ["../../../tmp/pwn", "/tmp/pwn", "CON", "n" * 5000, "Twin", "tWIN", "a\nb", "x\x1b[2J",
           "\u202eevil", "-o", "{0}", "%s%n"]  # fmt: skip


def _hostile():
    names = ["x", *HOSTILE, "y"]
    steps = enumerate(itertools.pairwise(names))
    nodes = [node("Neg", [one], [other], f"n{n}") for n, (one, other) in steps]
    return model(nodes, [value("x", [2])], [value("y", [2])])


@pytest.mark.parametrize("target", ["trace", "all.safetensors"])
def test_d06_hostile_tensor_names(isomorph, tmp_path, target):
    """Every tensor comes back under its own name, and no name became a path."""
    save(tmp_path / "m.onnx", _hostile())
    np.savez(tmp_path / "x.npz", x=np.float32([1, 2]))
    ran = isomorph("run", "m.onnx", "--inputs", "x.npz", "--all", "-o", target, makes=[target])
    assert ran.exit == 0
    from isomorph.store.input_files import read_arrays

    arrays = read_arrays(tmp_path / target)
    assert set(arrays) == {*HOSTILE, "y"}
    sign = {name: -1 if place % 2 == 0 else 1 for place, name in enumerate([*HOSTILE, "y"])}
    for name, array in arrays.items():
        assert array.tolist() == [sign[name], 2 * sign[name]], name
    assert all(len(os.path.basename(name)) < 100 for name in ran.made)  # noqa: PTH119
    again = isomorph("check", target, "m.onnx", "--inputs", "x.npz", "--format", "json")
    assert again.exit in (0, 1, 3)


def test_d06_hostile_names_in_every_output(isomorph, tmp_path):
    """The harness looks for control characters in what is printed."""
    save(tmp_path / "m.onnx", _hostile())
    assert isomorph("inspect", "m.onnx", "--nodes").exit == 0
    assert isomorph("check", "m.onnx", "m.onnx", "--format", "json").exit == 0
    assert isomorph("check", "m.onnx").exit == 0


def test_d06_names_that_npz_cannot_hold(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _hostile())
    ran = isomorph("run", "m.onnx", "--all", "-o", "all.npz")
    ran.refused("OUTPUT_FORMAT", file="all.npz", mentions=("safetensors",))


@pytest.mark.parametrize("command", ["check", "run"])
def test_d07_output_is_a_link(isomorph, tmp_path, command):
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "precious").write_text("keep me")
    target = "r.json" if command == "check" else "r.npz"
    (tmp_path / target).symlink_to("precious")
    words = ["--format", "json"] if command == "check" else []
    ran = isomorph(command, "m.onnx", *words, "-o", target)
    ran.refused("OUTPUT_IS_LINK", exit_code=4, file=target)
    assert (tmp_path / "precious").read_text() == "keep me"


@pytest.mark.parametrize("command", ["check", "run", "inspect"])
def test_d07_output_is_the_model(isomorph, tmp_path, command):
    """The harness holds the model's bytes against what they were."""
    save(tmp_path / "m.npz", dense())
    (tmp_path / "twin.npz").hardlink_to(tmp_path / "m.npz")
    ran = isomorph(command, "m.npz", "-o", "twin.npz")
    ran.refused("OUTPUT_IS_INPUT", exit_code=4, file="twin.npz")


STRANGE = {
    "not utf-8": b"m\xff.onnx", "space": b" m n .onnx", "newline": b"m\n.onnx",
    "emoji": "\U0001f9ea.onnx".encode(), "longest": b"n" * 250 + b".onnx",
    "escape": b"m\x1b[2J.onnx",
    "option": b"./--help.onnx", "colon": b"a:b",
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE.values(), ids=STRANGE)
def test_d08_strange_file_names(isomorph, tmp_path, name):
    path = tmp_path / os.fsdecode(name)
    save(path, dense())
    ran = isomorph("check", name, "--format", "json")
    assert ran.exit == 0, ran
    assert ran.report["models"][0]["framework"] == "onnx"
    assert isomorph("inspect", name).exit == 0


@pytest.mark.parametrize("name", [STRANGE["not utf-8"], STRANGE["escape"]])
def test_d08_strange_names_of_broken_files(isomorph, tmp_path, name):
    (tmp_path / os.fsdecode(name)).write_bytes(dense().SerializeToString()[:40])
    ran = isomorph("check", name)
    ran.refused("MODEL_TRUNCATED")


def test_d08_strange_names_of_arrays_and_reports(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())
    name = os.fsdecode(b"x\xff\n.npz")
    np.savez(tmp_path / name, x=matrix(2, 4))
    report = os.fsdecode(b"r\xff.json")
    ran = isomorph(
        "check", "m.onnx", "--inputs", name, "--format", "json", "-o", report, makes=[report]
    )
    assert ran.exit == 0
    assert json.loads((tmp_path / report).read_bytes())["verdict"] == "equivalent"


@pytest.mark.parametrize("what", ["model", "inputs", "output", "data"])
def test_d09_link_loop(isomorph, tmp_path, what):
    (tmp_path / "loop").symlink_to("loop")
    made = dense()
    if what == "data":
        external(made.graph.initializer[0], "loop")
    save(tmp_path / "m.onnx", made)
    words = {
        "model": ["loop"],
        "inputs": ["m.onnx", "--inputs", "loop"],
        "output": ["m.onnx", "-o", "loop"],
        "data": ["m.onnx"],
    }[what]
    ran = isomorph("check", *words)
    if what in ("model", "inputs"):
        ran.refused("PATH_LOOP", file="loop")
    else:
        assert ran.exit in (2, 4)
        assert ran.message


def test_d09_temporary_folder_is_a_link_loop(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())
    (tmp_path / "loop").symlink_to("loop")
    ran = isomorph("check", "m.onnx", env={"TMPDIR": str(tmp_path / "loop")})
    assert ran.exit == 0 or ran.message
    for left in tmp_path.glob("isomorph-*"):
        shutil.rmtree(left)


def test_same_file_for_both_sides_is_not_changed(isomorph, tmp_path):
    weights = [stored("c", np.float32([1, 2]))]
    made = model([node("Add", ["x", "c"], ["y"])], [value("x", [2])], [value("y", [2])], weights)
    save(tmp_path / "m.onnx", made)
    assert isomorph("check", "m.onnx", "m.onnx").exit == 0
