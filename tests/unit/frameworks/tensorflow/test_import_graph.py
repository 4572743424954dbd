import keras
import numpy as np
import pytest
import tensorflow as tf

from isomorph import registry
from isomorph.frameworks.tensorflow.import_graph import write_saved_model


@pytest.mark.parametrize("activation", ["swish", "relu6"])
def test_a_frozen_program_is_written_without_its_gradients(tmp_path, activation):
    """Swish has a gradient of its own, which captures what a frozen graph no longer holds."""
    inputs = keras.Input((3,), name="x")
    dense = keras.layers.Dense(4)(inputs)
    model = keras.Model(inputs, keras.layers.Activation(activation)(dense))
    program = registry.framework("tensorflow").load(model, {}).native.program
    write_saved_model(program, tmp_path / "frozen")
    loaded = tf.saved_model.load(str(tmp_path / "frozen"))
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    (y,) = loaded.signatures["serving_default"](tf.constant(x)).values()
    assert np.allclose(y.numpy(), model(x).numpy(), atol=1e-6)
