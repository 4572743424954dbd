"""A, C and E for Keras files, SavedModels and frozen graphs: damage, bombs, and foreign code."""

import json
import os
import random
import shutil
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest

from watching import MIB, PATIENCE

_MAKE = """
import sys
import numpy as np
from pathlib import Path
from tf_building import tensorflow, saved, graph, placeholder, binary, constant
from isomorph.frameworks.tensorflow.silence_logs import quietly
tf = tensorflow()
import keras
folder = Path(sys.argv[1])
with quietly():
    keras.utils.set_random_seed(0)
    x = keras.Input((4,), name="x")
    net = keras.Model(x, keras.layers.Dense(3, activation="tanh", name="y")(x))
    shifted = keras.Model(x, keras.layers.Lambda(lambda v: v + 1.0, name="sneaky")(x))
for suffix in (".keras", ".h5", ""):
    saved(net, folder / f"net{suffix}")
for suffix in (".keras", ".h5"):
    saved(shifted, folder / f"lambda{suffix}")
# One long node: what is cut off between two nodes is a shorter graph, and nobody can tell.
weight = constant("w", np.arange(4096, dtype=np.float32))
plain = graph(placeholder("x"), weight, binary("y", "AddV2", "x", "w"))
(folder / "net.pb").write_bytes(plain.SerializeToString())

class Reader(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((2,), tf.float32, "x")])
    def read(self, x):
        return {"y": x + tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname")), tf.float32)}

    @tf.function(input_signature=[tf.TensorSpec((2,), tf.float32, "x")])
    def write(self, x):
        tf.io.write_file("marker", "was here")
        return {"y": x}

    @tf.function(input_signature=[tf.TensorSpec((2,), tf.float32, "x")])
    def python(self, x):
        return {"y": tf.numpy_function(lambda v: v, [x], tf.float32)}

module = Reader()
for name in ("read", "write", "python"):
    with quietly():
        tf.saved_model.save(module, str(folder / name), signatures=getattr(module, name))
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory, request):
    """Small models of every format, made in a process of its own."""
    folder = tmp_path_factory.mktemp("keras")
    contract = str(request.config.rootpath / "tests" / "contract")
    line = [sys.executable, "-W", "ignore", "-c", _MAKE, str(folder)]
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": contract},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def config_of(archive):
    with zipfile.ZipFile(archive) as opened:
        return json.loads(opened.read("config.json"))


def rewritten(source, target, config):
    """The same .keras file with another configuration."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = json.dumps(config).encode() if name == "config.json" else old.read(name)
            new.writestr(name, data)


@pytest.mark.parametrize("share", [0.05, 0.66])
@pytest.mark.parametrize("name", ["net.keras", "net.h5", "net.pb"])
def test_a01_cut(isomorph, tmp_path, made, name, share):
    data = (made / name).read_bytes()
    (tmp_path / name).write_bytes(data[: max(12, int(len(data) * share))])
    isomorph("check", name).refused("MODEL_TRUNCATED", file=name)


@pytest.mark.parametrize("share", [0.66, 0.98])
def test_a01_saved_model_cut(isomorph, tmp_path, made, share):
    shutil.copytree(made / "net", tmp_path / "net")
    inner = tmp_path / "net" / "saved_model.pb"
    data = inner.read_bytes()
    inner.write_bytes(data[: int(len(data) * share)])
    isomorph("check", "net").refused("MODEL_TRUNCATED", mentions=("saved_model.pb", "byte "))


def test_a01_saved_model_without_variables(isomorph, tmp_path, made):
    shutil.copytree(made / "net", tmp_path / "net")
    shutil.rmtree(tmp_path / "net" / "variables")
    isomorph("check", "net").refused("MODEL_TRUNCATED", file="net")


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.pb"])
def test_a02_empty(isomorph, tmp_path, name):
    (tmp_path / name).touch()
    isomorph("check", name).refused("MODEL_EMPTY", file=name)


def test_a02_empty_in_a_folder(isomorph, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "saved_model.pb").touch()
    isomorph("check", "m").refused("MODEL_EMPTY", mentions=("saved_model.pb",))


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m/saved_model.pb"])
def test_a03_html_page(isomorph, tmp_path, name):
    (tmp_path / "m").mkdir()
    (tmp_path / name).write_text("<!DOCTYPE html><html><title>404 Not Found</title></html>\n")
    isomorph("check", name.partition("/")[0]).refused("NOT_A_MODEL", mentions=("this is HTML",))


@pytest.mark.parametrize("name", ["m.keras", "m/saved_model.pb", "m/variables/variables.data"])
def test_a04_git_lfs_pointer(isomorph, tmp_path, made, name):
    shutil.copytree(made / "net", tmp_path / "m")
    (tmp_path / name).write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"
    )
    isomorph("check", name.partition("/")[0]).refused("LFS_POINTER", mentions=("git lfs pull",))


def test_a05_keras_named_as_onnx_is_read_as_keras_and_noted(isomorph, tmp_path, made):
    (tmp_path / "m.onnx").write_bytes((made / "net.keras").read_bytes())
    ran = isomorph("check", "m.onnx", "--format", "json")
    assert ran.exit == 0, ran
    (summary,) = ran.report["models"]
    assert summary["framework"] == "tensorflow"
    assert any(".onnx" in note and "content is tensorflow" in note for note in summary["notes"])


@pytest.mark.parametrize("name", ["net.h5", "net.pb"])
def test_a07_changed_bytes_are_an_error_or_another_digest(isomorph, tmp_path, made, name):
    data = bytearray((made / name).read_bytes())
    chance = random.Random(7)
    for _ in range(6):
        data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    (tmp_path / name).write_bytes(bytes(data))
    ran = isomorph("check", name, "--format", "json")
    assert ran.exit in {0, 1, 2, 3}
    if not ran.err.startswith("error[") and ran.out:
        assert ran.report["models"][0]["digest"]


def test_a10_a_folder_of_something_else(isomorph, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "notes.txt").write_text("no model")
    isomorph("check", "m").refused("NOT_REGULAR_FILE", file="m")


def test_weights_without_a_network(isomorph, tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["dense/kernel"] = np.zeros((2, 2), np.float32)
    isomorph("check", "w.h5").refused("WEIGHTS_ONLY", file="w.h5", mentions=("model.save",))


def test_c07_zip_bomb(isomorph, tmp_path, made):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("config.json", json.dumps(config_of(made / "net.keras")))
        with archive.open("model.weights.h5", "w", force_zip64=True) as member:
            block = bytes(16 * MIB)
            for _ in range(96):
                member.write(block)
    isomorph("check", "m.keras", peak=500 * MIB).refused("ARCHIVE_BOMB", exit_code=4)


def test_c07_weights_that_promise_more_than_they_hold(isomorph, tmp_path, made):
    path = tmp_path / "m.h5"
    path.write_bytes((made / "net.h5").read_bytes())
    with h5py.File(path, "a") as file:
        file.create_dataset("bomb", (1 << 32,), "f4", chunks=(1 << 20,), compression="gzip")
    isomorph("check", "m.h5").refused("ARCHIVE_BOMB", exit_code=4, file="m.h5")


@pytest.mark.parametrize("member", ["../../escaped", "/etc/escaped"])
def test_c08_members_that_leave_the_archive(isomorph, tmp_path, made, member):
    path = tmp_path / "m.keras"
    path.write_bytes((made / "net.keras").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(member, "x")
    isomorph("check", "m.keras").refused("ARCHIVE_TRAVERSAL", exit_code=4, mentions=("escaped",))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_c08_two_members_of_one_name(isomorph, tmp_path, made):
    path = tmp_path / "m.keras"
    path.write_bytes((made / "net.keras").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("config.json", "{}")
    isomorph("check", "m.keras").refused("ARCHIVE_TRAVERSAL", exit_code=4, mentions=("twice",))


@pytest.mark.parametrize("name", ["lambda.keras", "lambda.h5"])
def test_e03_e04_lambda(isomorph, tmp_path, made, name):
    shutil.copy(made / name, tmp_path)
    message = isomorph("check", name).refused(
        "UNSAFE_KERAS", exit_code=4, file=name, mentions=("'sneaky'", "Lambda", "--trust")
    )
    assert ("no safe mode" in message) == name.endswith(".h5")


def test_e03_lambda_with_trust_is_run_and_recorded(isomorph, tmp_path, made):
    shutil.copy(made / "lambda.keras", tmp_path)
    ran = isomorph("check", "lambda.keras", "--trust", "--format", "json")
    assert ran.exit == 0, ran
    assert ran.report["trusted"]


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"class_name": "TFSMLayer", "module": "keras.layers",
          "config": {"name": "outside", "filepath": "/elsewhere"}}, "TFSMLayer"),
        ({"class_name": "Marker", "module": "marking", "config": {"name": "m"}}, "'marking'"),
    ],
)  # fmt: skip
def test_e03_layers_that_reach_outside(isomorph, tmp_path, made, entry, word):
    (tmp_path / "marking.py").write_text("open('marker', 'w').close()\n")
    config = config_of(made / "net.keras")
    config["config"]["layers"].append(entry)
    rewritten(made / "net.keras", tmp_path / "m.keras", config)
    isomorph("check", "m.keras").refused("UNSAFE_KERAS", exit_code=4, mentions=(word, "--trust"))
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("name", "op"), [("read", "ReadFile"), ("write", "WriteFile"), ("python", "PyFunc")]
)
def test_e05_operators_that_reach_outside(isomorph, tmp_path, made, name, op):
    shutil.copytree(made / name, tmp_path / name)
    isomorph("check", name).refused("IO_OP_IN_GRAPH", exit_code=4, mentions=(op, "--trust"))
    assert not (tmp_path / "marker").exists()


def test_e05_a_frozen_graph_that_writes(isomorph, tmp_path):
    # Two nodes, by hand: a constant and the operator that reads the file it names.
    def text(number, value):
        return bytes([number << 3 | 2, len(value)]) + value

    nodes = [text(1, b"name") + text(2, b"Const"), text(1, b"r") + text(2, b"ReadFile")]
    (tmp_path / "m.pb").write_bytes(b"".join(text(1, node) for node in nodes))
    isomorph("check", "m.pb").refused("IO_OP_IN_GRAPH", exit_code=4, mentions=("ReadFile",))
