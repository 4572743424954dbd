"""TensorFlow fed and fetched at any tensor, under every setting."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.runtime import TensorflowRuntime
from isomorph.frameworks.tensorflow.silence_logs import quietly
from tf_building import binary, graph, image, network, placeholder, tensorflow, unary

tf = tensorflow()
framework, runtime = TensorflowFramework(), TensorflowRuntime()


def opened(model, **settings):
    return runtime.open(model, Environment(runtime="tensorflow", settings=settings))


@pytest.fixture(scope="module")
def model():
    return framework.load(network(), {})


def node(model, op):
    return next(node for node in model.graph.nodes if node.op == op)


def test_the_uncut_run_is_the_deployed_one_bit_for_bit(model):
    session = opened(model)
    with quietly():
        wanted = model.native.origin[0](image(), training=False).numpy()
    function = model.native.graph([tf.constant(image())])[0].numpy()
    (found,) = session.run({"image": image()}, ["logits"]).values()
    assert np.array_equal(found, function)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_without_optimizers_the_cut_graph_is_the_deployed_one_bit_for_bit(model):
    session = opened(model, grappler="off")
    whole = session.run({"image": image()}, ["logits"])["logits"]
    conv = node(model, "Conv").outputs[0]
    cut = session.run({"image": image()}, [conv, "logits"])
    assert np.array_equal(cut["logits"], whole)
    fed = session.run({conv: cut[conv]}, ["logits"])
    assert np.array_equal(fed["logits"], whole)


def test_grappler_is_put_back_after_a_run(model):
    before = tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False)
    opened(model, grappler="off").run({"image": image()}, ["logits"])
    after = tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False)
    assert after == before


def test_constants_can_be_fetched_and_fed(model):
    session = opened(model)
    bias = session.run({}, ["logits/bias"])["logits/bias"]
    assert bias.shape == (5,)
    plain = session.run({"image": image()}, ["logits"])["logits"]
    moved = session.run({"image": image(), "logits/bias": bias + 1}, ["logits"])["logits"]
    np.testing.assert_allclose(moved, plain + 1, rtol=1e-5, atol=1e-6)


def test_what_is_fed_and_fetched_comes_back(model):
    session = opened(model)
    assert session.run({"image": image()}, ["image"])["image"] is not None
    mixed = session.run({"image": image()}, ["image", "logits"])
    assert np.array_equal(mixed["image"], image())


def test_lists_are_lists_of_arrays_and_can_be_fed(model):
    session = opened(model, grappler="off")
    loop = node(model, "Loop")
    lists = [name for name in loop.inputs if model.graph.tensors[name].kind == "sequence"]
    assert lists
    inputs = [name for name in loop.inputs if name not in model.graph.constants]
    given = session.run({"image": image()}, inputs)
    steps = next(given[name] for name in lists if np.shape(given[name][0]) == (2, 24))
    assert len(steps) == 6
    whole = session.run({"image": image()}, ["logits"])["logits"]
    assert np.array_equal(session.run(given, ["logits"])["logits"], whole)
    altered = {name: given[name] for name in inputs}
    name = next(name for name in lists if np.shape(given[name][0]) == (2, 24))
    altered[name] = [step * 0 for step in steps]
    assert not np.array_equal(session.run(altered, ["logits"])["logits"], whole)


def test_one_output_of_several_can_be_fed():
    made = graph(
        placeholder("x"),
        ("axis", "Const", [], {"value": np.array(1, np.int32), "dtype": tf.int32}),
        ("halves", "Split", ["axis", "x"], {"T": tf.float32, "num_split": 2}),
        binary("sum", "AddV2", "halves", "halves:1"),
    )
    session = opened(framework.load(made, {}))
    x = np.array([[1.0, 2.0]], np.float32)
    assert session.run({"x": x}, ["halves:1"])["halves:1"].tolist() == [[2.0]]
    fed = session.run({"x": x, "halves:1": np.array([[10.0]], np.float32)}, ["sum", "halves"])
    assert fed["sum"].tolist() == [[11.0]]
    assert fed["halves"].tolist() == [[1.0]]


def test_shapes_may_change_from_run_to_run(model):
    session = opened(model)
    for batch in (1, 2, 5, 3, 4, 6, 7):
        x = np.zeros((batch, 6, 6, 3), np.float32)
        conv = node(model, "Conv").outputs[0]
        assert session.run({"image": x}, [conv, "logits"])["logits"].shape == (batch, 5)


def test_xla_compiles_and_eager_runs_the_keras_model(model):
    wanted = opened(model).run({"image": image()}, ["logits"])["logits"]
    for settings in ({"xla": "yes"}, {"mode": "eager"}):
        session = opened(model, **settings)
        assert session.capabilities.fetch == "outputs", "lists cannot leave XLA"
        found = session.run({"image": image()}, ["logits"])["logits"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        with pytest.raises(UsageError) as caught:
            session.run({"image": image()}, [node(model, "Conv").outputs[0]])
        assert caught.value.code == "OUTPUTS_ONLY"
    assert opened(model, xla="yes").environment.facts["xla"] == "on"
    assert opened(model, mode="eager").environment.facts["execution"] == "eager"


def test_a_graph_without_loops_is_cut_even_when_compiled():
    made = graph(placeholder("x"), unary("a", "Exp", "x"), unary("b", "Tanh", "a"))
    session = opened(framework.load(made, {}), xla="yes")
    assert session.capabilities.fetch == "all"
    x = np.array([0.0, 1.0], np.float32)
    found = session.run({"x": x}, ["a", "b"])
    np.testing.assert_allclose(found["b"], np.tanh(np.exp(x)), rtol=1e-5)
    assert session.run({"a": x}, ["b"])["b"].shape == (2,)


def test_words_come_out_as_text():
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "words")])
    def upper(words):
        return {"big": tf.strings.upper(words), "sizes": tf.strings.length(words)}

    session = opened(framework.load(upper, {}))
    found = session.run({"words": np.array(["ab", "cde"], object)}, ["big", "sizes"])
    assert found["big"].tolist() == ["AB", "CDE"]
    assert found["sizes"].tolist() == [2, 3]


def test_half_precision_is_kept():
    made = graph(placeholder("x"), unary("y", "Tanh", "x"))
    for entry in made.node:
        entry.attr[
            "dtype" if entry.op == "Placeholder" else "T"
        ].type = tf.bfloat16.as_datatype_enum
    model = framework.load(made, {})
    assert model.graph.outputs[0].dtype == "bfloat16"
    found = opened(model).run({"x": np.ones(2, tf.bfloat16.as_numpy_dtype)}, ["y"])["y"]
    assert found.dtype.name == "bfloat16"


def test_the_loops_of_tensorflow_1_run_whole():
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        with v1.Graph().as_default() as old:
            x = v1.placeholder(tf.float32, (3,), name="x")
            _, y = v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])
            tf.identity(y, name="out")
            definition = old.as_graph_def()
    finally:
        v1.enable_control_flow_v2()
    session = opened(framework.load(definition, {}))
    assert session.capabilities.fetch == "outputs"
    found = session.run({"x": np.ones(3, np.float32)}, ["out"])
    assert found["out"].tolist() == [8.0, 8.0, 8.0]


def test_two_models_with_loops_of_the_same_name_do_not_meet():
    def looping(factor):
        @tf.function(input_signature=[tf.TensorSpec((), tf.float32, "x")])
        def loop(x):
            return tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y * factor), [0, x])[1]

        return loop

    sessions = [
        opened(framework.load(looping(factor), {}), grappler="off") for factor in (2.0, 3.0)
    ]
    results = []
    for session in sessions:
        loop = next(n for n in session._program.nodes if "While" in n.op)
        found = session.run({"x": np.float32(1)}, [loop.outputs[0], "output_0"])
        results.append(float(found["output_0"]))
    assert results == [4.0, 9.0]
    sessions[0].close()
    assert float(sessions[1].run({"x": np.float32(2)}, ["output_0"])["output_0"]) == 18.0


def test_an_unknown_operator_is_refused_when_opened():
    made = graph(placeholder("x"), ("y", "Frobnicate", ["x"], {}))
    model = framework.load(made, {})
    assert model.graph.nodes[0].op == "Frobnicate"
    with pytest.raises(UnreadableModelError, match="Frobnicate") as caught:
        opened(model)
    assert caught.value.code == "UNSUPPORTED_OP"
    assert "'y'" in caught.value.where


@pytest.mark.parametrize(
    ("feeds", "fetch", "code"),
    [
        ({"image": image()}, ["nowhere"], "UNKNOWN_TENSOR"),
        ({}, ["logits"], "MISSING_INPUT"),
        ({"image": image().astype(np.int32)}, ["logits"], "WRONG_DTYPE"),
    ],
)
def test_wrong_words_are_reported(feeds, fetch, code, model):
    with pytest.raises(UsageError) as caught:
        opened(model).run(feeds, fetch)
    assert caught.value.code == code


def test_a_shape_that_does_not_fit_is_the_runtimes_failure(model):
    with pytest.raises(RuntimeFailedError) as caught:
        opened(model).run({"image": np.zeros((2, 5, 6, 3), np.float32)}, ["logits"])
    assert caught.value.code == "RUNTIME_FAILED"
    assert caught.value.why


@pytest.mark.parametrize(
    "settings",
    [{"mode": "fast"}, {"xla": "maybe"}, {"grappler": "1"}, {"onednn": "x"}, {"threads": "-1"},
     {"mode": "eager", "xla": "yes"}],
)  # fmt: skip
def test_impossible_settings_are_reported(settings, model):
    with pytest.raises(UsageError) as caught:
        opened(model, **settings)
    assert caught.value.code == "BAD_SETTING"


@pytest.mark.parametrize("settings", [{"onednn": "off"}, {"onednn": "on"}, {"threads": "3"}])
def test_what_comes_too_late_is_reported_with_the_variable(settings, model, monkeypatch):
    for name in ("TF_ENABLE_ONEDNN_OPTS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeFailedError) as caught:
        opened(model, **settings)
    assert caught.value.code == "FRESH_PROCESS_NEEDED"
    assert "TF_" in caught.value.fix


def test_only_a_keras_model_runs_eagerly():
    made = graph(placeholder("x"), unary("y", "Tanh", "x"))
    with pytest.raises(UsageError) as caught:
        opened(framework.load(made, {}), mode="eager")
    assert caught.value.code == "NO_EAGER"


def test_noise_is_for_oracles(model):
    with pytest.raises(UsageError) as caught:
        opened(model).run({"image": image()}, ["logits"], noise=Noise(seed=1, rounding=True))
    assert caught.value.code == "NO_NOISE"


def test_the_environment_holds_what_the_run_depends_on(model):
    environment = opened(model).environment
    assert environment.version == tf.__version__
    assert environment.threads
    assert set(environment.facts) == {"execution", "onednn", "xla", "grappler"}
    assert environment.settings["mode"] == "graph"
