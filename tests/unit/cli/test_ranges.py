import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from isomorph.cli.app import app
from isomorph.core.errors import UsageError


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A product with a large number, and a logarithm of what may be negative."""
    path = tmp_path_factory.mktemp("m") / "m.onnx"
    nodes = [
        helper.make_node("Mul", ["x", "c"], ["y"], name="scale"),
        helper.make_node("Log", ["x"], ["z"], name="log"),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("x", "y", "z")]
    stored = [helper.make_tensor("c", TensorProto.FLOAT, [1], [1000.0])]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, path)
    return str(path)


def run(model, *words):
    return app(["ranges", model, "--in-process", *words])


def test_all_tensors_proven_safe_is_0(model, capsys):
    assert run(model, "--range", "x=1:60", "--to", "float16") == 0
    shown = capsys.readouterr().out
    assert "SAFE: 3 tensors proven to stay within float16" in shown
    assert "seed 0" in shown


def test_an_overflow_is_1_and_its_input_is_written(model, tmp_path, capsys):
    place = tmp_path / "worst.npz"
    words = ("--range", "1:70", "--to", "float16", "--write-input", str(place))
    assert run(model, *words, "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "isomorph.ranges/1"
    (shown,) = document["overflows"]
    assert (shown["tensor"], shown["node"], shown["file"]) == ("y", "scale", str(place))
    with np.load(place) as arrays:
        assert 65.504 < arrays["x"].max() <= 70


def test_open_tensors_are_3(model, capsys):
    assert run(model, "--range", "x=-1:1", "--to", "float16", "--format", "markdown") == 3
    shown = capsys.readouterr().out
    assert "| z | Log | -inf … inf |" in shown
    assert "open: it is NaN on an input that was tried" in shown


def test_int8_gets_a_scale(model, capsys):
    assert run(model, "--range", "x=1:2", "--to", "int8") == 0
    assert "BOUNDED" in capsys.readouterr().out


def test_samples_state_the_range(model, tmp_path, capsys):
    np.savez(tmp_path / "a.npz", x=np.array([1.0, 3.0], np.float32))
    assert run(model, "--data", str(tmp_path), "--to", "bfloat16") == 0
    assert "1 … 3 (measured on the samples)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [(), ("--range", "x=2:1"), ("--range", "q=0:1"), ("--range", "x=0:1", "--to", "float8")],
)
def test_wrong_use(model, words):
    with pytest.raises(UsageError):
        run(model, *words)
