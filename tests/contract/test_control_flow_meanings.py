"""What a proof takes branches and loops to mean, held to the runtimes of their frameworks."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from isomorph import registry
from spelled_values import spelled_values

X = np.linspace(-1.5, 2.0, 8, dtype=np.float32).reshape(2, 4)
HEAD = '<ir_version: 10, opset_import: ["": 21]> '
ROUND = "r = Tanh(t) e = ReduceSum<keepdims=0>(r) "


def looped(count, condition, *, declared, body="t = Add(s, step) ", going="d = Identity(c)"):
    """A loop whose state begins with x, and whose rows are sums."""
    return f"""g ({declared}) => (float[2,4] y, float[N] rows)
        <bool true = {{1}}, int64 five = {{5}}, int64 long = {{300}},
            float step = {{0.3}}, float limit = {{2.5}}> {{
        y, rows = Loop({count}, {condition}, x) <body = b (int64 i, bool c, float[2,4] s)
            => (bool d, float[2,4] r, float e) {{ {body} {ROUND} {going} }}> }}"""


def without_rows(text):
    return text.replace(", float[N] rows", "").replace("y, rows", "y").replace(", float e", "")


ONNX = {
    "If": [
        ("""g (float[2,4] x, bool c) => (float[2,4] y) { y = If(c) <
            then_branch = t () => (float[2,4] a) { a = Exp(x) },
            else_branch = e () => (float[2,4] b) { n = Neg(x) b = Relu(n) }> }""",
         [{"x": X, "c": np.array(flag)} for flag in (True, False)]),
    ],
    "Loop": [
        (looped("five", "true", declared="float[2,4] x"), [{"x": X}]),
        (looped("", "true", declared="float[2,4] x",
                going="f = Cast<to=1>(i) d = Less(f, limit)"), [{"x": X}]),
        (looped("five", "true", declared="float[2,4] x",
                body="f = Cast<to=1>(i) t = Mul(s, f)"), [{"x": X}]),
        (without_rows(looped("n", "", declared="float[2,4] x, int64 n")),
         [{"x": X, "n": np.array(count)} for count in (0, 1, 4)]),
        (without_rows(looped("", "go", declared="float[2,4] x, bool go",
                             going="d = Less(e, limit)")),
         [{"x": X, "go": np.array(flag)} for flag in (True, False)]),
        (without_rows(looped("n", "go", declared="float[2,4] x, int64 n, bool go",
                             body="f = Cast<to=1>(i) g = Where(c, f, step) t = Add(s, g)",
                             going="h = Less(e, limit) d = And(h, c)")),
         [{"x": X, "n": np.array(3), "go": np.array(True)}]),
        (looped("long", "true", declared="float[2,4] x"),
         [{"x": X}]),
    ],
    "Scan": [
        (f"""g (float[2] s, float[2,4] x) => (float[2] last, float[2,4] rows) {{
            last, rows = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
                scan_input_directions = [{back}], scan_output_directions = [{turned}],
                body = b (float[2] a, float[2] e) => (float[2] t, float[2] o)
                {{ m = Tanh(a) t = Add(m, e) o = Neg(t) }}>(s, x) }}""",
         [{"s": X[:, 0], "x": X}])
        for back, turned in ((0, 0), (1, 0), (0, 1), (1, 1))
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [f"{op} {at}" for op in ONNX for at in range(len(ONNX[op]))])
def test_onnx(name):
    ort = pytest.importorskip("onnxruntime")
    op, at = name.split()
    text, feeds = ONNX[op][int(at)]
    model = parser.parse_model(HEAD + text)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for each in feeds:
        agree(model, each, session.run(None, each))


def agree(source, feeds, wanted):
    made, _ = spelled_values(source, feeds)
    assert not isinstance(made, str), made
    for one, other in zip(made, wanted, strict=True):
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_every_operator_of_onnx_has_a_case():
    assert registry.framework("onnx").meanings().controlled == ONNX.keys()


@pytest.mark.filterwarnings("ignore")
def test_programs_of_torch():
    torch = pytest.importorskip("torch")
    from torch._higher_order_ops.while_loop import while_loop

    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda a: a.exp(), lambda a: -a, (x,))

    class Counted(torch.nn.Module):
        def forward(self, x):
            start = (torch.tensor(0), x)
            return while_loop(
                lambda i, a: i < 3, lambda i, a: (i + 1, (a * 2).tanh() + i.float()), start
            )[1]

    class Waiting(torch.nn.Module):
        def forward(self, x):
            return while_loop(lambda a: a.sum() < 9, lambda a: (a + a.tanh() + 0.5,), (x,))[0]

    used = set()
    for build in (Branch, Counted, Waiting):
        for sign in (1.0, -1.0):
            given = torch.from_numpy(X) * sign
            program = torch.export.export(build(), (given,))
            used |= {f"higher_order.{node.target}" for node in program.graph.nodes}
            agree(program, {"x": given.numpy()}, [build()(given).numpy()])
    assert registry.framework("pytorch").meanings().controlled <= used


def keras_loops():
    keras = pytest.importorskip("keras")
    layers = [
        keras.layers.LSTM(3, return_sequences=True),
        keras.layers.GRU(3, go_backwards=True),
        keras.layers.SimpleRNN(3),
    ]
    return [keras.Sequential([keras.Input((4, 2), batch_size=2), layer]) for layer in layers]


def test_loops_and_lists_of_tensorflow():
    tf = pytest.importorskip("tensorflow")
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 4, 2)
    used = set()
    for model in keras_loops():
        function = tf.function(model).get_concrete_function(tf.TensorSpec(x.shape, tf.float32))
        loaded = registry.framework("tensorflow").load(function, {})
        used |= {node.native_op for node in loaded.graph.nodes}
        for node in loaded.graph.nodes:
            used |= {each.native_op for body in node.bodies.values() for each in body.nodes}
        agree(function, {loaded.graph.inputs[0].name: x}, [np.asarray(model(x))])
    assert {each for each in registry.framework("tensorflow").meanings().spelled
            if each.startswith("TensorList")} <= used  # fmt: skip
    assert "While" in used


def test_branches_and_loops_of_tensorflow():
    tf = pytest.importorskip("tensorflow")
    used = set()
    spec = tf.TensorSpec((2, 4), tf.float32)

    def branched(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: -x)

    def plainly_branched(x):
        bodies = [tf.function(each).get_concrete_function(spec) for each in (tf.exp, tf.negative)]
        (found,) = tf.raw_ops.If(cond=tf.reduce_sum(x) > 0, input=[x], Tout=[tf.float32],
                                 then_branch=bodies[0], else_branch=bodies[1])  # fmt: skip
        return found

    def waiting(x):
        step = lambda a: (a + tf.tanh(a) + 0.5,)  # noqa: E731
        (found,) = tf.while_loop(lambda a: tf.reduce_sum(a) < 9, step, (x,))
        return found

    for function in (branched, plainly_branched, waiting):
        concrete = tf.function(function).get_concrete_function(spec)
        model = registry.framework("tensorflow").load(concrete, {})
        used |= {node.native_op for node in model.graph.nodes}
        for x in (X, -X):
            result = np.asarray(concrete(tf.constant(x)))
            agree(concrete, {model.graph.inputs[0].name: x}, [result])
    # The fourth, While, is what Keras builds.
    assert {"StatelessIf", "If", "StatelessWhile"} <= used


def test_branches_and_loops_of_tflite(tmp_path):
    tf = pytest.importorskip("tensorflow")
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    used = set()

    def branched(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: -x)

    def waiting(x):
        step = lambda i, a: (i + 1, tf.tanh(a) + 0.5)  # noqa: E731
        return tf.while_loop(lambda i, a: i < 5, step, (tf.constant(0), x))[1]

    for place, function in enumerate((branched, waiting)):
        concrete = tf.function(function).get_concrete_function(tf.TensorSpec((2, 4), tf.float32))
        path = tmp_path / f"{place}.tflite"
        path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())
        model = registry.framework("tflite").load(path, {})
        used |= {node.native_op for node in model.graph.nodes}
        for x in (X, -X):
            runner = interpreter.Interpreter(str(path))
            runner.allocate_tensors()
            runner.set_tensor(runner.get_input_details()[0]["index"], x)
            runner.invoke()
            result = runner.get_tensor(runner.get_output_details()[0]["index"])
            agree(path.read_bytes(), {model.graph.inputs[0].name: x}, [result])
    assert registry.framework("tflite").meanings().controlled <= used
