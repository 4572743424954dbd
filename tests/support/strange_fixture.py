"""Faulty converters, installed for a test, and a small model for them."""

import importlib
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry

EXTENSIONS = Path(__file__).parent / "extensions"
NAMES = {
    "correct": "Correct", "crashes": "Crashes", "exits": "Exits", "raises": "Raises",
    "hangs": "Hangs", "writes_nothing": "WritesNothing", "garbles": "Garbles",
    "downloads": "Downloads",
    "needs_download": "NeedsDownload", "spoils": "Spoils", "needs_workaround": "NeedsWorkaround",
    "wrong": "Wrong", "pushy_failure": "PushyFailure", "pushy_and_wrong": "PushyAndWrong",
    "absent": "Absent", "unrunnable": "Unrunnable",
    "wrong_without_workaround": "WrongWithoutWorkaround", "wrong_pass": "WrongPass",
}  # fmt: skip


def _forget():
    importlib.invalidate_caches()
    registry.forget()


@pytest.fixture
def strange(tmp_path, monkeypatch):
    """Installs the strange converters, here and in every process started from here."""
    installed = tmp_path / "site" / "strange-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    lines = [f"{name} = strange_converters:{kind}" for name, kind in NAMES.items()]
    text = "\n".join(["[isomorph.converters]", *lines])
    (installed / "entry_points.txt").write_text(text)
    paths = [str(installed.parent), str(EXTENSIONS)]
    for path in paths:
        monkeypatch.syspath_prepend(path)
    known = filter(None, [os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*paths, *known]))
    _forget()
    yield
    monkeypatch.undo()
    _forget()


@pytest.fixture
def dense(tmp_path):
    """A small ONNX file: one layer with enough weights, its batch dynamic."""
    weights = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
            helper.make_node("Relu", ["m"], ["y"], name="positive"),
        ],
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "dense.onnx"
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path
