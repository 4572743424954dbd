"""Files of early Keras 2, which lack what later became an option."""

import json

import numpy as np
import pytest

from isomorph.core.trace import Environment
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.runtime import TensorflowRuntime
from isomorph.frameworks.tensorflow.silence_logs import import_quietly, quietly

h5py = pytest.importorskip("h5py")
pytest.importorskip("tf_keras")


@pytest.mark.parametrize(("reset_after", "stated"), [(False, False), (False, True), (True, True)])
def test_a_gru_without_the_option_is_of_the_only_kind_there_was(tmp_path, reset_after, stated):
    path = tmp_path / "old.h5"
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    with quietly():
        keras = import_quietly("tf_keras", "a test")
        given = keras.Input((5, 3), name="x")
        layer = keras.layers.GRU(4, reset_after=reset_after, bias_initializer="normal")
        model = keras.Model(given, layer(given))
        model.save(path, save_format="h5", include_optimizer=False)
        expected = model(x).numpy()
    with h5py.File(path, "a") as file:
        config = json.loads(file.attrs["model_config"])
        for each in config["config"]["layers"]:
            if not stated:
                each["config"].pop("reset_after", None)
        file.attrs["model_config"] = json.dumps(config)
    read = TensorflowFramework().load(str(path), {})
    session = TensorflowRuntime().open(read, Environment(runtime="tensorflow", settings={}))
    try:
        (found,) = session.run({"x": x}, [spec.name for spec in read.graph.outputs]).values()
    finally:
        session.close()
    assert np.allclose(found, expected, atol=1e-6)
