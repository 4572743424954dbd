"""Copies are complete or absent, and never land on what they came from."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from isomorph.core.errors import RefusedError
from isomorph.frameworks.onnx.framework import OnnxFramework

FRAMEWORK = OnnxFramework()
WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(params=["inside", "external"])
def source(request, tmp_path):
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[2,4] x) => (float[2,3] y)'
        "{ y = MatMul(x, w) }"
    )
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    path = tmp_path / "source.onnx"
    external = request.param == "external"
    onnx.save(proto, path, save_as_external_data=external, location="w.bin", size_threshold=0)
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_copy_is_the_same_model_and_the_source_is_untouched(source, tmp_path):
    before = contents(tmp_path)
    copy = tmp_path / "elsewhere" / "copy.onnx"
    copy.parent.mkdir()
    model = FRAMEWORK.load(source, {})
    FRAMEWORK.save(model, copy)
    again = FRAMEWORK.load(copy, {})
    assert again.graph == model.graph
    assert np.array_equal(again.native.initializer("w"), WEIGHT)
    assert contents(tmp_path) == before
    expected = {"copy.onnx", "copy.onnx.data"} if "w.bin" in before else {"copy.onnx"}
    assert set(contents(copy.parent)) == expected


def test_the_source_is_never_overwritten(source, tmp_path):
    before = contents(tmp_path)
    model = FRAMEWORK.load(source, {})
    with pytest.raises(RefusedError) as caught:
        FRAMEWORK.save(model, tmp_path / "." / "source.onnx")
    assert caught.value.code == "OUTPUT_IS_INPUT"
    assert contents(tmp_path) == before


def test_a_symbolic_link_is_not_followed(source, tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("keep me")
    (tmp_path / "out.onnx").symlink_to(victim)
    with pytest.raises(RefusedError) as caught:
        FRAMEWORK.save(FRAMEWORK.load(source, {}), tmp_path / "out.onnx")
    assert caught.value.code == "OUTPUT_IS_LINK"
    assert victim.read_text() == "keep me"


def test_a_failure_leaves_nothing_behind(source, tmp_path, monkeypatch):
    model = FRAMEWORK.load(source, {})
    target = tmp_path / "out"
    target.mkdir()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        FRAMEWORK.save(model, target / "copy.onnx")
    assert list(target.iterdir()) == []
