"""How many values a body holds at a time: as the main graph, those that are still to be read."""

import weakref
from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto, helper

from isomorph.core.trace import Environment
from isomorph.frameworks.onnx.evaluator import Evaluator
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.oracle import TensorflowOracle
from isomorph.frameworks.tensorflow.silence_logs import quietly
from isomorph.frameworks.tflite.framework import TfliteFramework
from isomorph.frameworks.tflite.oracle import TfliteOracle
from isomorph.oracle.executor import Executor
from tf_building import tensorflow

STEPS = 24
SIZE = 256
X = np.linspace(-1.0, 1.0, SIZE, dtype=np.float32)
EXPECTED = X.astype(np.float64)
for _ in range(STEPS):
    EXPECTED = np.tanh(EXPECTED)


class Alive:
    """Counts the large arrays that steps have computed and that still exist, and their most."""

    def __init__(self, monkeypatch):
        self.most = self.steps = 0
        self._known = {}
        step = Executor.step

        def counted(executor, *given):
            outputs = step(executor, *given)
            self.steps += 1
            for value in outputs:
                if isinstance(value.data, np.ndarray) and value.data.size == SIZE:
                    self._known[id(value.data)] = weakref.ref(value.data)
            self._known = {key: each for key, each in self._known.items() if each() is not None}
            self.most = max(self.most, len(self._known))
            return outputs

        monkeypatch.setattr(Executor, "step", counted)


def chain(first, last):
    names = [first, *(f"t{place}" for place in range(1, STEPS)), last]
    return [helper.make_node("Tanh", [a], [b]) for a, b in pairwise(names)]


def typed(name, kind=TensorProto.FLOAT, shape=(SIZE,)):
    return helper.make_tensor_value_info(name, kind, shape)


def plain():
    return chain("x", "y")


def branch():
    body = helper.make_graph(chain("x", "b"), "body", [], [typed("b")])
    return [helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)]


def loop():
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), *chain("h", "next")],
        "body",
        [typed("i", TensorProto.INT64, ()), typed("go", TensorProto.BOOL, ()), typed("h")],
        [typed("on", TensorProto.BOOL, ()), typed("next")],
    )
    return [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)]


def scan():
    body = helper.make_graph(
        [*chain("h", "next"), helper.make_node("Identity", ["row"], ["out"])],
        "body",
        [typed("h"), typed("row", shape=())],
        [typed("next"), typed("out", shape=())],
    )
    return [
        helper.make_node("Scan", ["x", "rows"], ["y", "rows_out"], body=body, num_scan_inputs=1)
    ]


@pytest.mark.parametrize("nodes", [plain, branch, loop, scan])
def test_onnx(nodes, monkeypatch):
    inputs = [
        typed("x"),
        typed("c", TensorProto.BOOL, ()),
        typed("n", TensorProto.INT64, ()),
        typed("rows", shape=(1,)),
    ]
    graph = helper.make_graph(nodes(), "g", inputs, [typed("y")])
    evaluator = Evaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    alive = Alive(monkeypatch)
    feeds = {"x": X, "c": np.array(True), "n": np.array(1), "rows": np.zeros(1, np.float32)}
    found = evaluator.run(feeds, ["y"])["y"]
    assert np.allclose(found, EXPECTED)
    assert alive.steps >= STEPS
    assert alive.most <= 3, alive.most


def repeated(x):
    for _ in range(STEPS):
        x = tensorflow().tanh(x)
    return x


def once_in_a_loop(x):
    tf = tensorflow()
    return tf.while_loop(lambda i, _: i < 1, lambda i, h: (i + 1, repeated(h)), [0, x])[1]


def in_a_branch(x):
    tf = tensorflow()
    return tf.cond(tf.reduce_sum(x) < 1e9, lambda: repeated(x), lambda: x)


def function_of(function):
    tf = tensorflow()
    signature = [tf.TensorSpec((SIZE,), tf.float32, name="x")]
    return tf.function(lambda x: {"y": function(x)}, input_signature=signature, autograph=False)


def of_tensorflow(function, _):
    with quietly():
        model = TensorflowFramework().load(function_of(function), {})
    return model, TensorflowOracle().open(model, Environment(runtime="tensorflow_oracle"))


def of_tflite(function, folder):
    concrete = function_of(function).get_concrete_function()
    converter = tensorflow().lite.TFLiteConverter.from_concrete_functions([concrete])
    (folder / "m.tflite").write_bytes(converter.convert())
    model = TfliteFramework().load(str(folder / "m.tflite"), {})
    return model, TfliteOracle().open(model, Environment(runtime="tflite_oracle"))


@pytest.mark.parametrize("function", [repeated, once_in_a_loop, in_a_branch])
@pytest.mark.parametrize("opened", [of_tensorflow, of_tflite])
def test_tensorflow_and_tflite(opened, function, monkeypatch, tmp_path):
    model, session = opened(function, tmp_path)
    alive = Alive(monkeypatch)
    (name,) = [spec.name for spec in model.graph.outputs]
    (given,) = [spec.name for spec in model.graph.inputs]
    assert np.allclose(session.run({given: X}, [name])[name], EXPECTED)
    assert alive.steps >= STEPS
    assert alive.most <= 3, alive.most
