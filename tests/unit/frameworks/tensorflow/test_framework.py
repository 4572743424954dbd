"""Every format TensorFlow and Keras write, read as the same function."""

import sys
from pathlib import Path

import numpy as np
import pytest

from isomorph.core.errors import IsomorphError, RefusedError, UnreadableModelError, UsageError
from isomorph.core.model import OutputOrder
from isomorph.core.trace import Environment
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.runtime import TensorflowRuntime
from isomorph.frameworks.tensorflow.silence_logs import quietly
from tf_building import graph, image, network, placeholder, saved, tensorflow, two_headed, unary

tf = tensorflow()
framework, runtime = TensorflowFramework(), TensorflowRuntime()


def outputs(model, feeds, **settings):
    session = runtime.open(model, Environment(runtime="tensorflow", settings=settings))
    try:
        return session.run(feeds, [spec.name for spec in model.graph.outputs])
    finally:
        session.close()


@pytest.fixture(scope="module")
def live():
    return network()


@pytest.fixture(scope="module")
def expected(live):
    with quietly():
        return live(image(), training=False).numpy()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, live):
    made = tmp_path_factory.mktemp("tensorflow")
    for name in ("m.keras", "m.h5", "m_folder"):
        saved(live, made / name)
    from isomorph.frameworks.tensorflow.callables import from_keras

    frozen = from_keras(live).program.graph_def
    (made / "m.pb").write_bytes(frozen.SerializeToString())
    return made


FORMATS = {"m.keras": "keras", "m.h5": "keras", "m_folder": "savedmodel", "m.pb": "graph"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_the_same_function(name, folder, expected):
    model = framework.load(str(folder / name), {})
    assert model.metadata["kind"] == FORMATS[name]
    assert [spec.name for spec in model.graph.inputs] == ["image"]
    (result,) = outputs(model, {"image": image()}).values()
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    weights = {constant.digest for constant in model.graph.constants.values()}
    kernel = next(c for n, c in model.graph.constants.items() if n == "conv/kernel")
    assert kernel.digest in weights


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_known_by_its_content(name, folder, tmp_path):
    path = folder / name
    if path.is_dir():
        assert framework.sniff(path, b"")
        inner = path / "saved_model.pb"
        assert framework.sniff(inner, inner.read_bytes()[:4096])
        return
    disguised = tmp_path / "model.onnx"
    disguised.write_bytes(path.read_bytes())
    assert framework.sniff(disguised, disguised.read_bytes()[: 64 << 10])
    assert framework.load(str(disguised), {}).graph == framework.load(str(path), {}).graph


def test_an_ordinary_folder_is_not_claimed(tmp_path):
    assert not framework.sniff(tmp_path, b"")


def test_the_file_inside_a_saved_model_stands_for_the_folder(folder):
    one = framework.load(str(folder / "m_folder"), {})
    two = framework.load(str(folder / "m_folder" / "saved_model.pb"), {})
    assert one.digest == two.digest
    assert one.graph == two.graph


def test_a_dict_of_outputs_keeps_its_keys_and_has_no_order(tmp_path):
    model = two_headed()
    x = np.ones((1, 4), np.float32)
    with quietly():
        wanted = {key: value.numpy() for key, value in model(x).items()}
    for target in (model, saved(model, tmp_path / "d.keras"), saved(model, tmp_path / "d")):
        read = framework.load(target if target is model else str(target), {})
        assert read.output_order is OutputOrder.UNORDERED
        found = outputs(read, {"given": x})
        assert set(found) == {"zeta", "alpha"}
        for key, value in wanted.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-6)
            spec = next(spec for spec in read.graph.outputs if spec.name == key)
            assert spec.shape == (None, value.shape[1])


def test_numbered_outputs_come_in_the_order_of_their_numbers(tmp_path):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((), tf.float32, "x")])
        def serve(self, x):
            return [x + float(k) for k in range(12)]

    module = Module()
    with quietly():
        tf.saved_model.save(module, str(tmp_path), signatures=module.serve)
    model = framework.load(str(tmp_path), {})
    assert [spec.name for spec in model.graph.outputs] == [f"output_{k}" for k in range(12)]
    assert model.output_order is OutputOrder.NAMED, "which is no order that anybody meant"
    found = outputs(model, {"x": np.float32(0)})
    assert [float(value) for value in found.values()] == [float(k) for k in range(12)]


@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_files_of_keras_2_are_read_by_its_successor(suffix, tmp_path):
    tf_keras = pytest.importorskip("tf_keras")
    with quietly():
        given = tf_keras.Input((6, 4), name="seq")
        states = tf_keras.layers.LSTM(3)(given) + 1.0  # Keras 3 does not know this layer
        model = tf_keras.Model(given, states)
        model.save(tmp_path / f"old{suffix}")
        x = np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32)
        wanted = model(x).numpy()
    read = framework.load(str(tmp_path / f"old{suffix}"), {})
    assert "tf_keras" in read.notes[0]
    (found,) = outputs(read, {"seq": x}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_live_models_and_functions_are_claimed_and_nothing_else(live):
    function = tf.function(lambda x: x)
    assert framework.claims(live)
    assert framework.claims(function)
    assert framework.claims(tf.compat.v1.GraphDef())
    for other in (object(), 3, "m.keras", np.zeros(2), {"x": 1}, len):
        assert not framework.claims(other)


def test_a_live_model_is_read_as_it_is(live, expected):
    model = framework.load(live, {})
    (found,) = outputs(model, {"image": image()}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert model.digest == framework.load(live, {}).digest


def test_a_live_model_is_handed_over_as_a_keras_file(live, expected, tmp_path):
    path = framework.hand_over(live, {}, tmp_path)
    assert path.suffix == ".keras"
    (found,) = outputs(framework.load(str(path), {}), {"image": image()}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_model_with_python_in_it_is_handed_over_as_its_graph(tmp_path):
    import keras

    with quietly():
        given = keras.Input((3,), name="x")
        model = keras.Model(given, keras.layers.Lambda(lambda x: x * 3.0)(given))
    path = framework.hand_over(model, {}, tmp_path)
    assert path.is_dir()
    (found,) = outputs(framework.load(str(path), {}), {"x": np.ones((1, 3), np.float32)}).values()
    assert found.tolist() == [[3.0, 3.0, 3.0]]


def test_functions_are_handed_over_with_their_variables(tmp_path):
    scale = tf.Variable([2.0, 3.0])
    x = np.array([[1.0, 1.0]], np.float32)

    @tf.function
    def scaled(x):
        return {"y": x * scale}

    with pytest.raises(UsageError) as caught:
        framework.load(scaled, {})
    assert caught.value.code == "EXAMPLE_NEEDED"
    path = framework.hand_over(scaled, {"x": x}, tmp_path)
    model = framework.load(str(path), {})
    (found,) = outputs(model, {model.graph.inputs[0].name: x}).values()
    assert found.tolist() == [[2.0, 3.0]]


def test_a_graph_in_memory_is_handed_over(folder, tmp_path, expected):
    definition = tf.compat.v1.GraphDef()
    definition.ParseFromString((folder / "m.pb").read_bytes())
    path = framework.hand_over(definition, {}, tmp_path)
    (found,) = outputs(framework.load(str(path), {}), {"image": image()}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_a_copy_is_the_same_model(name, folder, tmp_path):
    model = framework.load(str(folder / name), {})
    copy = tmp_path / name
    framework.save(model, copy)
    again = framework.load(str(copy), {})
    assert [node.native_op for node in again.graph.nodes] == [
        node.native_op for node in model.graph.nodes
    ]
    assert [path.name for path in tmp_path.iterdir()] == [name], "something was left behind"


def test_a_copy_is_never_written_onto_the_original_or_through_a_link(folder, tmp_path):
    model = framework.load(str(folder / "m.pb"), {})
    with pytest.raises(RefusedError) as caught:
        framework.save(model, folder / "m.pb")
    assert caught.value.code == "OUTPUT_IS_INPUT"
    link = tmp_path / "link.pb"
    link.symlink_to(tmp_path / "elsewhere.pb")
    with pytest.raises(RefusedError) as caught:
        framework.save(model, link)
    assert caught.value.code == "OUTPUT_IS_LINK"
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious.txt").write_text("kept")
    with pytest.raises(RefusedError) as caught:
        framework.save(model, full)
    assert caught.value.code == "OUTPUT_IS_FOLDER"
    assert (full / "precious.txt").read_text() == "kept"


def test_a_lambda_loads_only_with_trust(tmp_path):
    import keras

    with quietly():
        given = keras.Input((3,), name="x")
        model = keras.Model(given, keras.layers.Lambda(lambda x: x + 1.0)(given))
    path = saved(model, tmp_path / "l.keras")
    with pytest.raises(RefusedError) as caught:
        framework.load(str(path), {})
    assert caught.value.code == "UNSAFE_KERAS"
    trusted = framework.load(str(path), {"trust": "yes"})
    (found,) = outputs(trusted, {"x": np.zeros((1, 3), np.float32)}).values()
    assert found.tolist() == [[1.0, 1.0, 1.0]]


def test_a_saved_model_without_its_variables_is_damage(folder, tmp_path):
    lone = tmp_path / "m"
    lone.mkdir()
    (lone / "saved_model.pb").write_bytes((folder / "m_folder" / "saved_model.pb").read_bytes())
    with pytest.raises(UnreadableModelError) as caught:
        framework.load(str(lone), {})
    assert caught.value.code == "MODEL_TRUNCATED"


def test_a_saved_model_without_signature_is_reported(tmp_path):
    with quietly():
        tf.saved_model.save(tf.Module(), str(tmp_path))
    with pytest.raises(UnreadableModelError) as caught:
        framework.load(str(tmp_path), {})
    assert caught.value.code == "NO_SIGNATURE"


@pytest.mark.parametrize("seed", range(6))
def test_changed_bytes_are_an_error_of_ours_or_another_digest(seed, folder, tmp_path):
    data = bytearray((folder / "m.pb").read_bytes())
    rng = np.random.default_rng(seed)
    for place in rng.integers(0, len(data), 6):
        data[place] ^= int(rng.integers(1, 256))
    path = tmp_path / "m.pb"
    path.write_bytes(bytes(data))
    try:
        model = framework.load(str(path), {})
    except IsomorphError:
        return
    assert model.digest != framework.load(str(folder / "m.pb"), {}).digest


def test_two_nodes_of_one_name_are_refused(tmp_path):
    path = tmp_path / "m.pb"
    made = graph(placeholder("x"), unary("y", "Relu", "x"), unary("y", "Exp", "x"))
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnreadableModelError) as caught:
        framework.load(str(path), {})
    assert caught.value.code == "NOT_SSA"


def test_a_graph_that_tensorflow_refuses_is_invalid(tmp_path):
    path = tmp_path / "m.pb"
    made = graph(placeholder("x"), ("y", "Relu", ["x", "x"], {"T": tf.float32}))
    path.write_bytes(made.SerializeToString())
    with pytest.raises(UnreadableModelError) as caught:
        framework.load(str(path), {})
    assert caught.value.code == "INVALID_GRAPH"


def test_a_live_graph_is_left_as_it_is():
    made = graph(placeholder("x"), ("y", "Relu", ["x", "^x"], {"T": tf.float32}))
    before = made.SerializeToString(deterministic=True)
    framework.load(made, {})
    assert made.SerializeToString(deterministic=True) == before


def test_loading_leaves_the_process_as_it_was(folder, capfd):
    before = dict(sys.modules)
    framework.load(str(folder / "m.keras"), {})
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""
    assert set(before) <= set(sys.modules)
    assert Path(folder / "m.keras").exists()
