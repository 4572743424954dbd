"""Keras files judged by their JSON alone."""

import json
import zipfile

import h5py
import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.frameworks.tensorflow.keras_config import refuse_unsafe_archive, refuse_unsafe_hdf5


def layer(class_name="Dense", module="keras.layers", config=None, **more):
    return {"class_name": class_name, "module": module, "config": config or {"name": "l"}, **more}


def sequential(*layers):
    return layer("Sequential", "keras", {"name": "s", "layers": list(layers)})


def archive(folder, config):
    weights = folder / "weights.h5"
    with h5py.File(weights, "w") as file:
        file["layers/l/vars/0"] = np.zeros(3, np.float32)
    path = folder / "m.keras"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        made.writestr("metadata.json", "{}")
        made.write(weights, "model.weights.h5")
    return path


def hdf5(folder, config):
    path = folder / "m.h5"
    with h5py.File(path, "w") as file:
        if config is not None:
            file.attrs["model_config"] = json.dumps(config)
        file["model_weights/l/kernel"] = np.zeros(3, np.float32)
    return path


FINE = [
    layer(),
    layer("Conv2D", "keras.layers", {"name": "c", "activation": "relu"}),
    layer("Add", "keras.src.ops.numpy"),
    layer("Dense", "tf_keras.src.layers"),
    layer("Dense", None),
    layer("function", "builtins", "relu"),
    layer("Activation", "keras.layers", {"activation": layer("function", "builtins", "gelu")}),
    layer("TFOpLambda", "keras.layers", {"name": "t", "function": "__operators__.add"}),
    layer("TFOpLambda", "keras.layers", {"name": "t", "function": "math.reduce_mean"}),
]

UNSAFE = {
    "Lambda": layer("Lambda", "keras.layers", {"name": "sneaky"}),
    "a lambda argument": layer(config={"name": "d", "activation": layer("__lambda__", "builtins")}),
    "TFSMLayer": layer("TFSMLayer", config={"name": "t", "filepath": "/elsewhere"}),
    "another module": layer("Popen", "subprocess"),
    "a neighbor of Keras": layer("get_file", "keras.utils"),
    "a look-alike": layer("Dense", "kerasx.layers"),
    "os through builtins": layer("function", "builtins", "__import__('os').system"),
    "registered": layer("Odd", "keras.layers", registered_name="keras>Lambda"),
    "tf.io": layer("TFOpLambda", "keras.layers", {"name": "t", "function": "io.read_file"}),
    "py_function": layer("TFOpLambda", "keras.layers", {"name": "t", "function": "py_function"}),
    "raw_ops": layer("TFOpLambda", "keras.layers", {"name": "t", "function": "raw_ops.WriteFile"}),
    "nested": sequential(layer("TimeDistributed", config={"layer": layer("Lambda")})),
}


@pytest.mark.parametrize("make", [archive, hdf5])
@pytest.mark.parametrize("entry", FINE, ids=lambda entry: str(entry["config"])[:30])
def test_ordinary_layers_pass(make, entry, tmp_path):
    path = make(tmp_path, sequential(entry))
    (refuse_unsafe_archive if make is archive else refuse_unsafe_hdf5)(path)


@pytest.mark.parametrize("make", [archive, hdf5])
@pytest.mark.parametrize("kind", UNSAFE)
def test_what_brings_code_is_refused_with_its_layer(make, kind, tmp_path):
    path = make(tmp_path, sequential(layer(), UNSAFE[kind]))
    with pytest.raises(RefusedError) as caught:
        (refuse_unsafe_archive if make is archive else refuse_unsafe_hdf5)(path)
    assert caught.value.code == "UNSAFE_KERAS"
    assert caught.value.exit_code == 4
    assert "--trust" in caught.value.fix
    assert ("no safe mode" in caught.value.why) == (make is hdf5)


def test_training_is_not_loaded_and_not_judged(tmp_path):
    config = sequential(layer()) | {"compile_config": {"loss": layer("MyLoss", "my.own.losses")}}
    refuse_unsafe_archive(archive(tmp_path, config))


def test_weights_in_another_file_are_refused(tmp_path):
    path = hdf5(tmp_path, sequential(layer()))
    with h5py.File(path, "a") as file:
        file["model_weights/l/bias"] = h5py.ExternalLink("/etc/passwd.h5", "/x")
    with pytest.raises(RefusedError) as caught:
        refuse_unsafe_hdf5(path)
    assert caught.value.code == "EXTERNAL_DATA_ESCAPE"
    assert "passwd" in caught.value.where


def test_raw_storage_outside_is_refused(tmp_path):
    path = hdf5(tmp_path, sequential(layer()))
    with h5py.File(path, "a") as file:
        file.create_dataset("raw", (4,), "f4", external=[("/etc/hostname", 0, 16)])
    with pytest.raises(RefusedError, match="another file"):
        refuse_unsafe_hdf5(path)


@pytest.mark.parametrize("config", ["{", "", '{"a": ' * 100_000])
def test_json_that_is_none_is_damage(config, tmp_path):
    with pytest.raises(UnreadableModelError) as caught:
        refuse_unsafe_archive(archive(tmp_path, config))
    assert caught.value.code == "MODEL_TRUNCATED"
    assert caught.value.where == "config.json"


def test_weights_without_a_network_are_reported_as_that(tmp_path):
    with pytest.raises(UnreadableModelError) as caught:
        refuse_unsafe_hdf5(hdf5(tmp_path, None))
    assert caught.value.code == "WEIGHTS_ONLY"


def test_a_cut_hdf5_file_is_damage(tmp_path):
    path = hdf5(tmp_path, sequential(layer()))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(UnreadableModelError) as caught:
        refuse_unsafe_hdf5(path)
    assert caught.value.code == "MODEL_TRUNCATED"
