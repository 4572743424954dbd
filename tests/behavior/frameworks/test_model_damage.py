"""A damaged model is an error of the file, wherever in the reading it shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.core.errors import IsomorphError, UnreadableModelError
from isomorph.frameworks.onnx.framework import OnnxFramework
from tflite_building import small

HARNESS = Path(__file__).parents[2] / "support" / "damaging.py"

# Written and read by one process: importing TensorFlow costs more than either.
TENSORFLOW = """
import runpy
import sys
from pathlib import Path
harness, seeds, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
from tf_building import graph, placeholder, saved, two_headed, unary
model = two_headed()
for name in ("net.keras", "net.h5", "saved"):
    saved(model, folder / name)
nodes = placeholder("x"), unary("y", "Tanh", "x"), unary("z", "Exp", "y")
(folder / "graph.pb").write_bytes(graph(*nodes).SerializeToString())
names = "net.keras", "net.h5", "saved", "graph.pb"
sys.argv = [harness, seeds, *(str(folder / name) for name in names)]
runpy.run_path(harness, run_name="__main__")
"""


def _onnx(path):
    weight = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    branches = [
        helper.make_graph(
            [helper.make_node(op, ["product"], [name])], name, [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4])],
        )
        for op, name in (("Relu", "positive"), ("Neg", "negative"))
    ]  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["product"], name="product"),
         helper.make_node("If", ["flag"], ["y"], then_branch=branches[0], else_branch=branches[1])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3]),
         helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(weight, "weight")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, path)
    return path


def _outcomes(*words, folder=None):
    line = [sys.executable, *map(str, words)]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=300, check=False, cwd=folder
    )
    assert done.returncode == 0, f"a reader crashed: {done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def _judge(outcomes_by_file, share):
    for name, outcomes in outcomes_by_file.items():
        assert not [each for each in outcomes if each.startswith("BUG")], name
        assert {each.split()[-1] for each in outcomes} <= {"2", "4", "read"}
        noticed = sum(each != "read" for each in outcomes)
        assert noticed > share * len(outcomes), f"{name}: most damage must be noticed"


def test_onnx_and_tflite(tmp_path):
    tflite = tmp_path / "net.tflite"
    tflite.write_bytes(small().data())
    _judge(_outcomes(HARNESS, 300, _onnx(tmp_path / "net.onnx"), tflite), 0.4)


def test_tensorflow(tmp_path):
    pytest.importorskip("tensorflow")
    building = Path(__file__).parents[2] / "contract"
    outcomes_by_file = _outcomes("-c", TENSORFLOW, HARNESS, 36, tmp_path, folder=building)
    assert len(outcomes_by_file) == 4
    _judge(outcomes_by_file, 0.4)


@pytest.mark.parametrize(
    "name", [b"product", b"MatMul", b"then_branch", b"positive", b"weight", b"batch", b"net"]
)
def test_a_name_in_onnx_that_is_no_text_is_damage(tmp_path, name):
    path = _onnx(tmp_path / "net.onnx")
    path.write_bytes(path.read_bytes().replace(name, b"\xff" + name[1:]))
    with pytest.raises(UnreadableModelError) as caught:
        OnnxFramework().load(str(path), {})
    assert caught.value.code == "MODEL_TRUNCATED"
    assert "not text" in caught.value.what


def test_a_description_may_be_what_it_likes(tmp_path):
    path = _onnx(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.graph.node[0].doc_string = "describes"
    path.write_bytes(model.SerializeToString().replace(b"describes", b"\xffescribes"))
    assert OnnxFramework().load(str(path), {}).graph.nodes


@pytest.mark.parametrize("entry", [{"class_name": ["Lambda"]}, {"class_name": {"a": 1}}])
def test_a_class_that_is_no_word_is_not_taken_for_code(entry):
    from isomorph.frameworks.tensorflow.keras_config import _threats

    assert list(_threats({"layers": [entry]})) == []
    assert list(_threats({"layers": [entry, {"class_name": "Lambda"}]}))


def test_weights_that_are_no_hdf5_are_damage(tmp_path):
    import zipfile

    from isomorph.frameworks.tensorflow.keras_config import refuse_unsafe_archive

    path = tmp_path / "net.keras"
    for junk in (b"", b"no weights", b"\x89HDF\r\n\x1a\n" + b"\xff" * 200):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", "{}")
            archive.writestr("model.weights.h5", junk)
        with pytest.raises(IsomorphError) as caught:
            refuse_unsafe_archive(path)
        assert caught.value.code == "MODEL_TRUNCATED"
