"""The smallest pair that shows a fault: cut out of both models, checked, ready to be attached."""

import ast
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph import api
from isomorph.__main__ import main
from isomorph.core.errors import UsageError

RNG = np.random.default_rng(5)
W1 = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
W2 = RNG.normal(size=(4, 4, 3, 3)).astype(np.float32)
X = {"x": RNG.normal(size=(1, 3, 8, 8)).astype(np.float32)}


def network(alpha=0.1, axis=1, second=W2):
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("LeakyRelu", ["c1"], ["a1"], "bend", alpha=alpha),
        helper.make_node("Conv", ["a1", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "a1"], ["s"], "residual"),
        helper.make_node("Softmax", ["s"], ["y"], "soft", axis=axis),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [numpy_helper.from_array(W1, "w1"), numpy_helper.from_array(second, "w2")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def follow(folder, monkeypatch):
    """Type the command of the README in its folder."""
    text = (folder / "README.md").read_text()
    command = re.search(r"^isomorph (check .*)$", text, re.MULTILINE)[1]
    monkeypatch.chdir(folder)
    return main([*shlex.split(command), "--in-process"])


def shown_without_isomorph(folder, tmp_path):
    """Run the script where an import of isomorph fails; what it printed."""
    hidden = tmp_path / "hidden" / "isomorph"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('isomorph is not installed')")
    env = {**os.environ, "PYTHONPATH": str(hidden.parent)}
    without = [sys.executable, "-c", "import isomorph"]
    assert subprocess.run(without, check=False, env=env, capture_output=True).returncode == 1
    words = [sys.executable, "reproduce.py"]
    done = subprocess.run(words, check=False, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def imports(script):
    """The packages that a script imports."""
    tree = ast.parse(script.read_text())
    plain = [n.names for n in ast.walk(tree) if isinstance(n, ast.Import)]
    modules = [alias.name for names in plain for alias in names]
    modules += [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    return {name.partition(".")[0] for name in modules} - {"os", "sys", "pathlib", "numpy"}


@pytest.fixture
def pair(tmp_path):
    onnx.save(network(), tmp_path / "right.onnx")
    onnx.save(network(alpha=0.3, axis=2), tmp_path / "wrong.onnx")
    np.savez(tmp_path / "x.npz", **X)
    return tmp_path


def test_the_faulty_node_alone_shows_the_fault(pair, capsys, monkeypatch):
    words = ["extract", str(pair / "right.onnx"), str(pair / "wrong.onnx"), "-o", str(pair / "cut"),
             "--inputs", str(pair / "x.npz"), "--in-process"]  # fmt: skip
    assert main(words) == 0
    assert "'bend': 1 of 5 nodes" in capsys.readouterr().out
    names = {file.name for file in (pair / "cut").iterdir()}
    assert names == {"README.md", "candidate.onnx", "inputs.npz", "reference.onnx", "reproduce.py"}
    cut = onnx.load(pair / "cut" / "candidate.onnx")
    assert [node.op_type for node in cut.graph.node] == ["LeakyRelu"]
    assert follow(pair / "cut", monkeypatch) == 1, "the pair shows it to whoever types the command"
    assert main(words) == 2, "a folder that is not empty is not written to"
    assert imports(pair / "cut" / "reproduce.py") == {"onnxruntime"}
    printed = shown_without_isomorph(pair / "cut", pair)
    assert "largest difference" in printed


def test_a_script_that_shows_nothing_is_not_kept(pair, monkeypatch):
    from isomorph.reporters import extraction_script

    monkeypatch.setattr(extraction_script, "script", lambda _: "import sys; sys.exit(1)")
    words = ("right.onnx", "wrong.onnx")
    found = api.extract(*(pair / word for word in words), output=pair / "cut", inputs=X,
                        in_process=True)  # fmt: skip
    assert found.script is None
    assert not (pair / "cut" / "reproduce.py").exists()
    assert found.no_script in (pair / "cut" / "README.md").read_text()


def test_a_node_can_be_named_and_the_one_before_it_is_put_right(pair):
    found = api.extract(pair / "right.onnx", pair / "wrong.onnx", output=pair / "cut",
                             inputs=X, node="soft", in_process=True)  # fmt: skip
    assert (found.node, found.nodes, found.exit_code) == ("soft", 1, 0)
    with np.load(pair / "cut" / "inputs.npz") as arrays:
        given = arrays["s"]
    right = isomorph.run(pair / "right.onnx", inputs=X, fetch=["s"], in_process=True).tensors["s"]
    assert np.allclose(given, right, atol=1e-5), "it is fed what it should have been fed"


def test_the_node_of_a_report_is_taken(pair):
    report = isomorph.check(pair / "right.onnx", pair / "wrong.onnx", inputs=X, in_process=True)
    from isomorph.reporters.json import as_json

    (pair / "r.json").write_text(as_json(report))
    found = api.extract(pair / "right.onnx", pair / "wrong.onnx", output=pair / "cut",
                             inputs=X, report=pair / "r.json", in_process=True)  # fmt: skip
    assert found.node == report.findings[0].node
    (pair / "r.json").write_text(as_json(replace(report, findings=())))
    with pytest.raises(UsageError, match="names no faulty node"):
        api.extract(pair / "right.onnx", pair / "wrong.onnx", output=pair / "other",
                         report=pair / "r.json", in_process=True)  # fmt: skip


@pytest.mark.parametrize("node", [None, "conv1"])
def test_correct_models_and_nodes_are_left_alone(pair, node):
    wrong = "wrong.onnx" if node else "right.onnx"
    with pytest.raises(UsageError, match="not at fault" if node else "no node is at fault"):
        api.extract(pair / "right.onnx", pair / wrong, output=pair / "cut", inputs=X,
                         node=node, in_process=True)  # fmt: skip
    assert not (pair / "cut").exists()


def test_a_pytorch_reference_is_cut_as_an_exported_program(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Conv2d(3, 4, 3, padding=1, bias=False)
            self.two = torch.nn.Conv2d(4, 4, 3, padding=1, bias=False)
            self.one.weight.data = torch.from_numpy(W1)
            self.two.weight.data = torch.from_numpy(W2)

        def forward(self, x):
            a = torch.nn.functional.leaky_relu(self.one(x), 0.1)
            return torch.softmax(self.two(a) + a, 1)

    exported = torch.export.export(Net().eval(), (torch.from_numpy(X["x"]),))
    torch.export.save(exported, tmp_path / "net.pt2")
    spoilt = np.array(W2)
    spoilt[0, 0] += 1.0
    onnx.save(network(second=spoilt), tmp_path / "wrong.onnx")
    found = api.extract(tmp_path / "net.pt2", tmp_path / "wrong.onnx",
                             output=tmp_path / "cut", inputs=X, in_process=True)  # fmt: skip
    assert (found.node, found.reference, found.exit_code) == ("conv2", "reference.pt2", 0)
    assert found.nodes == 1
    assert follow(tmp_path / "cut", monkeypatch) == 1
    assert imports(tmp_path / "cut" / found.script) == {"torch", "onnxruntime"}
    (node,) = api.inspect(tmp_path / "cut" / "reference.pt2", in_process=True).graph.nodes
    assert (node.source.file, node.source.text) == (
        __file__,
        "return torch.softmax(self.two(a) + a, 1)",
    )


def test_a_tflite_candidate_is_cut_by_surgery(tmp_path, monkeypatch):
    tf = pytest.importorskip("tensorflow")
    weights = W1.transpose(2, 3, 1, 0)

    def function(alpha):
        @tf.function(input_signature=[tf.TensorSpec([1, 8, 8, 3], tf.float32, name="x")])
        def net(x):
            y = tf.nn.leaky_relu(tf.nn.conv2d(x, weights, 1, "SAME"), alpha)
            return tf.nn.softmax(tf.tanh(y))

        return net

    wrong = function(0.3).get_concrete_function()
    flat = tf.lite.TFLiteConverter.from_concrete_functions([wrong]).convert()
    (tmp_path / "wrong.tflite").write_bytes(flat)
    inputs = {"x": X["x"].transpose(0, 2, 3, 1)}
    graph = function(0.1)
    found = api.extract(graph, tmp_path / "wrong.tflite", output=tmp_path / "cut",
                             inputs=inputs, in_process=True)  # fmt: skip
    assert found.node.startswith("LEAKY_RELU:")
    assert (found.reference, found.candidate) == ("reference.pb", "candidate.tflite")
    assert (found.nodes, found.exit_code) == (1, 0)
    assert follow(tmp_path / "cut", monkeypatch) == 1
    assert imports(tmp_path / "cut" / found.script) == {"tensorflow", "ai_edge_litert"}


def test_a_node_inside_a_body_is_cut_out_of_the_body(tmp_path, monkeypatch):
    def looped(alpha):
        def info(name, shape, kind=TensorProto.FLOAT):
            return helper.make_tensor_value_info(name, kind, shape)

        flag = TensorProto.BOOL
        body = helper.make_graph(
            [
                helper.make_node("Mul", ["h", "x"], ["p"], "product"),
                helper.make_node("LeakyRelu", ["p"], ["b"], "bend", alpha=alpha),
                helper.make_node("Sin", ["b"], ["n"], "wave"),
                helper.make_node("Identity", ["g"], ["go"], "go"),
            ],
            "body", [info("i", [], TensorProto.INT64), info("g", [], flag), info("h", [4])],
            [info("go", [], flag), info("n", [4])],
        )  # fmt: skip
        nodes = [helper.make_node("Loop", ["m", "t", "x"], ["y"], "loop", body=body)]
        graph = helper.make_graph(
            nodes, "g", [info("x", [4])], [info("y", [4])],
            [numpy_helper.from_array(np.array(v), n) for n, v in (("m", 3), ("t", True))],
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    inputs = {"x": np.array([1.0, -2.0, 0.5, 3.0], np.float32)}
    onnx.save(looped(0.1), tmp_path / "right.onnx")
    onnx.save(looped(0.4), tmp_path / "wrong.onnx")
    found = api.extract(tmp_path / "right.onnx", tmp_path / "wrong.onnx",
                             output=tmp_path / "cut", inputs=inputs, in_process=True)  # fmt: skip
    assert found.node == "loop/body#0/bend"
    cut = onnx.load(tmp_path / "cut" / "candidate.onnx")
    assert [node.op_type for node in cut.graph.node] == ["LeakyRelu"]
    assert follow(tmp_path / "cut", monkeypatch) == 1
    assert found.script is not None, found.no_script


def test_a_run_that_is_off_is_cut_out_alone(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    with torch.no_grad():
        net[0].weight.mul_(1e6)  # its sums exceed float16
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(net.eval(), (torch.randn(2, 8),)), path)
    inputs = {"input": RNG.normal(size=(2, 8)).astype(np.float32)}
    found = api.extract(
        path,
        path,
        output=tmp_path / "cut",
        inputs=inputs,
        in_process=True,
        options=api.PairOptions(
            runtime=api.RuntimeOptions(settings={"candidate.dtype": "float16"})
        ),
    )
    assert found.reference is None
    assert found.exit_code == 0
    assert "--set candidate.dtype=float16" in found.command
    assert imports(tmp_path / "cut" / found.script) == {"torch"}
    assert "torch.float16" in (tmp_path / "cut" / found.script).read_text()
    assert follow(tmp_path / "cut", monkeypatch) == 1


def flat(weight, op, pool=False):
    """A ReLU, perhaps a pool of single pixels, a change of shape, a product."""
    sizes = {"shape": np.array([1, 192])} if op == "Reshape" else {}
    window = helper.make_node("AveragePool", ["r"], ["p"], "pool", kernel_shape=[1, 1])
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        *([window] if pool else []),
        helper.make_node(op, ["p" if pool else "r", *sizes], ["f"], "flat"),
        helper.make_node("MatMul", ["f", "w"], ["m"], "product"),
        helper.make_node("Tanh", ["m"], ["y"], "tanh"),
    ]
    stored = {"w": weight, **sizes}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_node_behind_a_change_of_shape_is_cut_out_alone(tmp_path):
    # What lies before the change holds the same values, in a shape that the other part lacks.
    weight = RNG.normal(size=(192, 4)).astype(np.float32)
    wrong = weight * np.float32([1, 1, 1.01, 1])
    found = api.extract(flat(weight, "Flatten", pool=True), flat(wrong, "Reshape"),
                             inputs=X, output=tmp_path / "cut", in_process=True)  # fmt: skip
    assert (found.node, found.nodes, found.exit_code) == ("product", 1, 0)


def test_where_an_input_is_quantized_wrongly_the_next_fault_is_cut_out(tmp_path):
    pytest.importorskip("ai_edge_litert")
    import tflite_faulty

    wrong = tflite_faulty.eight_bits()
    tflite_faulty.too_narrow(wrong)
    (tmp_path / "wrong.tflite").write_bytes(wrong.data())
    (tmp_path / "right.tflite").write_bytes(tflite_faulty.floats_of_eight_bits().data())
    found = api.extract(tmp_path / "right.tflite", tmp_path / "wrong.tflite",
                        output=tmp_path / "cut", inputs={"x": tflite_faulty.IMAGE},
                        in_process=True)  # fmt: skip
    assert (found.node, found.nodes, found.exit_code) == ("CONV_2D:1", 1, 0)
    # Real numbers are put onto the grids of the part, and its integers read through theirs.
    text = (tmp_path / "cut" / found.script).read_text()
    assert "whole(given['x']" in text
    assert "computed = real(computed" in text
