"""E: files that carry code. Whatever they would run leaves a marker, and there is none."""

import io
import os
import pickle
import zipfile

import pytest
from onnx import helper

from making import dense, model, node, save, value


class Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.fixture
def marker(tmp_path):
    yield tmp_path / "sprung"
    assert not (tmp_path / "sprung").exists()


def _zipped(path, pickled):
    """The members that torch.save writes."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickled)
        archive.writestr("m/byteorder", "little")
        archive.writestr("m/version", "3\n")
    return path


@pytest.mark.parametrize("form", ["zip", "legacy"])
@pytest.mark.parametrize("role", ["alone", "reference", "candidate"])
def test_e01_pickle_with_code(isomorph, tmp_path, marker, form, role):
    pickled = pickle.dumps(Trap(marker), protocol=2)
    if form == "zip":
        _zipped(tmp_path / "m.pt", pickled)
    else:
        (tmp_path / "m.pt").write_bytes(pickled)
    save(tmp_path / "other.onnx", dense())
    words = {
        "alone": ["m.pt"],
        "reference": ["m.pt", "other.onnx"],
        "candidate": ["other.onnx", "m.pt"],
    }[role]
    ran = isomorph("check", *words)
    ran.refused("UNSAFE_PICKLE", exit_code=4, file="m.pt", mentions=("mkdir", "--trust"))


def test_e01_the_trap_works(tmp_path, marker):
    """Otherwise the tests above would prove nothing."""
    pickle.loads(pickle.dumps(Trap(marker)))
    assert marker.is_dir()
    marker.rmdir()


def test_e01_pickle_inside_an_exported_program(isomorph, tmp_path, marker, exported):
    """torch.export.load retries without its safe unpickler; nothing here does."""
    spoiled = _replace(exported, tmp_path / "m.pt2", _weights, pickle.dumps(Trap(marker), 2))
    assert spoiled, "the program has no pickled member to replace"
    isomorph("check", "m.pt2").refused("UNSAFE_PICKLE", exit_code=4, file="m.pt2")


def test_e01_saved_pickle_inside_an_exported_program(isomorph, tmp_path, marker, exported):
    inner = io.BytesIO()
    _zipped(inner, pickle.dumps(Trap(marker), 2))
    _replace(exported, tmp_path / "m.pt2", _weights, inner.getvalue())
    isomorph("check", "m.pt2").refused("UNSAFE_PICKLE", exit_code=4, file="m.pt2")


def test_e01_code_in_the_graph_of_an_exported_program(isomorph, tmp_path, marker, exported):
    """The names of operators in a .pt2 are looked up in Python: only operators may pass."""

    with zipfile.ZipFile(exported) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    (member,) = [name for name, text in texts.items() if b"torch.ops.aten.tanh.default" in text]
    text = texts[member]
    evil = text.replace(b"torch.ops.aten.tanh.default", b"torch.os.system")
    _replace(exported, tmp_path / "m.pt2", lambda name: name == member, evil)
    isomorph("check", "m.pt2").refused("UNSAFE_TARGET", exit_code=4, file="m.pt2")


def _weights(name):
    return name.endswith(".pt")


def _replace(source, target, chosen, data):
    """A copy of the archive with other bytes in the chosen members; how many there were."""
    count = 0
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            count += chosen(name)
            new.writestr(name, data if chosen(name) else old.read(name))
        if not count:
            new.writestr(old.namelist()[0].partition("/")[0] + "/data/weights/w.pt", data)
    return count or 1


def test_e01_pickle_as_state(isomorph, tmp_path, marker):
    (tmp_path / "net.py").write_text(_NET)
    (tmp_path / "w.pt").write_bytes(pickle.dumps(Trap(marker), protocol=2))
    ran = isomorph("check", "net:make", "--trust", "--state", "w.pt", makes=["__pycache__"])
    assert ran.exit in (2, 4)
    assert ran.message


def test_e02_pickle_of_a_harmless_class(isomorph, tmp_path):
    import collections

    _zipped(tmp_path / "m.pt", pickle.dumps(collections.Counter("aab"), protocol=2))
    isomorph("check", "m.pt").refused(
        "UNSAFE_PICKLE", exit_code=4, file="m.pt", mentions=("collections.Counter", "--trust")
    )


_NET = """
import os, sys, torch

if "LEAVE_A_MARK" in os.environ:
    os.mkdir(os.environ["LEAVE_A_MARK"])

def make():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 2).eval(), (torch.randn(3, 4),)
"""


def test_e06_factory_needs_trust(isomorph, tmp_path, marker):
    (tmp_path / "net.py").write_text(_NET)
    ran = isomorph("check", "net:make", env={"LEAVE_A_MARK": str(marker)})
    ran.refused("FACTORY_NEEDS_TRUST", exit_code=4, mentions=("net:make", "--trust"))


def test_e06_trust_is_recorded(isomorph, tmp_path):
    (tmp_path / "net.py").write_text(_NET)
    ran = isomorph("check", "net:make", "--trust", "--format", "json", makes=["__pycache__"])
    assert ran.exit == 0, ran
    assert ran.report["trusted"] == ["net:make"]


def test_e06_nothing_is_imported_from_the_folder_by_accident(isomorph, tmp_path, marker):
    """A file named like a package must not be taken for it."""
    for name in ("numpy", "onnx", "onnxruntime", "torch", "psutil", "json"):
        (tmp_path / f"{name}.py").write_text(f"import os; os.mkdir({str(marker)!r})")
    save(tmp_path / "m.onnx", dense())
    ran = isomorph("check", "m.onnx", "--format", "json", env={"PYTHONSAFEPATH": "1"})
    assert ran.exit == 0
    assert ran.report["trusted"] == []


def test_e07_library_named_in_the_model(isomorph, tmp_path):
    """A pipe stands where the library would be: whoever opened it would wait for ever."""
    os.mkfifo(tmp_path / "ops.so")
    nodes = [node("Twist", ["x"], ["y"], "twister", domain="acme")]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)]
    made = model(nodes, [value("x", [2])], [value("y", [2])], opsets=opsets)
    library = str(tmp_path / "ops.so")
    keys = ("custom_ops", "custom_op_library", "ep.library", "ort_config")
    helper.set_model_props(made, dict.fromkeys(keys, library))
    save(tmp_path / "m.onnx", made)
    ran = isomorph("check", "m.onnx", within=60)
    ran.refused("UNSUPPORTED_OP", file="m.onnx", mentions=("never taken from the model", "acme"))


def test_e07_library_named_in_a_model_that_needs_none(isomorph, tmp_path):
    os.mkfifo(tmp_path / "ops.so")
    made = dense()
    helper.set_model_props(made, {"custom_ops": str(tmp_path / "ops.so")})
    save(tmp_path / "m.onnx", made)
    ran = isomorph("check", "m.onnx", "--format", "json", within=60)
    assert ran.exit == 0
    settings = ran.report["environments"]["candidate run"]["settings"]
    assert settings["custom_ops"] == ""
