import json

import numpy as np
import pytest

from isomorph import api
from isomorph.__main__ import main
from isomorph.core.model import (
    Constant,
    Graph,
    Model,
    Node,
    Quantization,
    Source,
    TensorSpec,
)
from isomorph.core.trace import Environment, Trace
from isomorph.reporters.table import bytes_text, columns, shape_text


@pytest.fixture
def model():
    x = TensorSpec(name="x", dtype="float32", shape=("batch", 3, None))
    y = TensorSpec(name="y\x1b[2J", dtype="float32", shape=None)
    inner = Node(name="inner", op="Relu", native_op="Relu", inputs=("x",), outputs=("z",))
    body = Graph(name="then", inputs=(), outputs=(), tensors={}, constants={}, nodes=(inner,))
    nodes = (
        Node(name="conv", op="Conv", native_op="Conv", inputs=("x", "w"), outputs=("c",),
             source=Source(module="stem", file="net.py", line=7)),
        Node(name="if", op="If", native_op="If", inputs=("c",), outputs=("y",),
             bodies={"then_branch": body}),
    )  # fmt: skip
    weight = Constant(name="w", dtype="int4", shape=(64, 64), digest="d", value_digest="v")
    return Model(
        framework="onnx",
        location="net.onnx",
        digest="sha256:00",
        producer="pytorch 2.13.0",
        opset={"": 18},
        notes=("two nodes share a name",),
        native=object(),
        graph=Graph(
            name="g", inputs=(x,), outputs=(y,), nodes=nodes, tensors={"x": x},
            constants={"w": weight},
            quantization=(
                Quantization(tensor="w", dtype="int4", scale=(0.5, 0.25), zero_point=(0, 0),
                             axis=1),
            ),
        ),
    )  # fmt: skip


@pytest.fixture
def inspected(monkeypatch, model):
    monkeypatch.setattr(api, "inspect", lambda location, **words: model)


def test_inspect_lists_what_the_file_holds(inspected, capsys):
    assert main(["inspect", "net.onnx"]) == 0
    text = capsys.readouterr().out
    for fact in ("net.onnx: onnx model", "pytorch 2.13.0", "ai.onnx 18", "2, and 1 in bodies",
                 "1 Conv, 1 If, 1 Relu", "1, 2.0 KiB", "x  float32 [batch, 3, ?]",
                 "y\\x1b[2J  float32 […]", "2 scales 0.25 to 0.5 along axis 1",
                 "note: two nodes share a name"):  # fmt: skip
        assert fact in text
    assert "net.py:7" not in text


def test_inspect_lists_nodes_with_their_source(inspected, capsys):
    assert main(["inspect", "net.onnx", "--nodes"]) == 0
    text = capsys.readouterr().out
    assert "stem  net.py:7" in text
    assert "inner" in text


def test_inspect_as_json_is_the_whole_description(inspected, capsys):
    assert main(["inspect", "net.onnx", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "isomorph.model/1"
    assert document["model"]["native"] is None
    assert document["model"]["graph"]["nodes"][0]["source"]["line"] == 7


def test_inspect_knows_its_formats(inspected, capsys):
    assert main(["inspect", "net.onnx", "--format", "xml"]) == 2
    assert "error[UNKNOWN_FORMAT]" in capsys.readouterr().err


def test_run_shows_the_figures_of_each_tensor(monkeypatch, capsys):
    tensors = {
        "y": np.array([[1.0, np.nan], [np.inf, -3.0]], np.float32),
        "empty": np.zeros((0, 4), np.int64),
        "words": np.array(["a", "b"], object),
        "none": None,
    }
    trace = Trace(environment=Environment(runtime="onnxruntime", version="1"), tensors=tensors)
    monkeypatch.setattr(api, "run", lambda model, **words: trace)
    assert main(["run", "net.onnx"]) == 0
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()[2:]}
    assert rows["y"] == ["y", "float32", "[2,", "2]", "-3", "1", "-1", "1", "1"]
    assert rows["empty"] == ["empty", "int64", "[0,", "4]"]
    assert rows["words"] == ["words", "string", "[2]"]
    assert rows["none"] == ["none", "absent"]


def test_columns_align_and_escape():
    assert columns([("a", "b"), ("long", "c\n")]) == "  a     b\n  long  c\\n"


def test_sizes_and_shapes():
    assert [bytes_text(size) for size in (512, 2048, 3 * 2**30)] == [
        "512 bytes", "2.0 KiB", "3.0 GiB",
    ]  # fmt: skip
    assert shape_text(()) == "[]"
