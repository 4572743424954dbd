"""Writes small TFLite models with TensorFlow's own converter: ``python tflite_models.py FOLDER``.

Run in a process of its own, because TensorFlow takes long to import and stays for good.
"""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np
import tensorflow as tf

RNG = np.random.default_rng(0)


def cnn():
    """More than 1,024 weights in one layer: below that the converter quantizes nothing."""
    keras.utils.set_random_seed(1)
    image = keras.Input((12, 12, 3), name="image")
    y = keras.layers.Conv2D(16, 3, padding="same", activation="relu6", name="stem")(image)
    y = keras.layers.Conv2D(16, 3, padding="same", name="middle")(y)
    y = keras.layers.BatchNormalization(name="norm")(y)
    y = keras.layers.Activation("sigmoid", name="gate")(y)
    y = keras.layers.DepthwiseConv2D(3, strides=2, name="depth")(y)
    y = keras.layers.GlobalAveragePooling2D(name="pool")(y)
    y = keras.layers.Dense(5, name="head")(y)
    return keras.Model(image, keras.layers.Softmax(name="probabilities")(y))


def lstm():
    keras.utils.set_random_seed(2)
    x = keras.Input((6, 8), batch_size=1, name="steps")
    y = keras.layers.LSTM(16, name="memory")(x)
    return keras.Model(x, keras.layers.Dense(3, name="head")(y))


def samples():
    for _ in range(8):
        yield [RNG.standard_normal((1, 12, 12, 3)).astype(np.float32)]


def convert(converter, **settings):
    for key, value in settings.items():
        setattr(converter, key, value)
    return converter.convert()


def from_keras(model, **settings):
    return convert(tf.lite.TFLiteConverter.from_keras_model(model), **settings)


class Counter(tf.Module):
    """A resource variable: every call adds its input to what is kept."""

    def __init__(self):
        self.total = tf.Variable(tf.ones((1, 4)), name="total")

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32, name="x")])
    def __call__(self, x):
        self.total.assign_add(tf.math.tanh(x))
        return {"sum": self.total.read_value() * 2.0}


class Branches(tf.Module):
    """IF and WHILE with sub-graphs, a dynamic axis, and an output that is an input too."""

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, 4), tf.float32, name="x"), tf.TensorSpec((), tf.int32, name="n"),
        ]
    )  # fmt: skip
    def __call__(self, x, n):
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.math.exp(x), lambda: tf.math.abs(x))
        _, z = tf.while_loop(
            lambda i, _: i < n,
            lambda i, z: (i + 1, z * 0.5 + 1.0),
            (tf.constant(0), y),
            shape_invariants=(tf.TensorShape(()), tf.TensorShape((None, 4))),
        )
        return {"result": z, "same": x}


def stateful(module, **settings):
    concrete = module.__call__.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    return convert(converter, **settings)


def models():
    default = {tf.lite.Optimize.DEFAULT}
    whole = tf.lite.TargetSpec(supported_ops={tf.lite.OpsSet.TFLITE_BUILTINS_INT8})
    net = cnn()
    yield "cnn", from_keras(net)
    yield "dynamic", from_keras(net, optimizations=default)
    half = tf.lite.TargetSpec(supported_types={tf.float16})
    yield "float16", from_keras(net, optimizations=default, target_spec=half)
    yield "int8", from_keras(
        net, optimizations=default, representative_dataset=samples, target_spec=whole,
        inference_input_type=tf.int8, inference_output_type=tf.int8,
    )  # fmt: skip
    yield "lstm", from_keras(lstm())
    yield "counter", stateful(Counter(), experimental_enable_resource_variables=True)
    yield "branches", stateful(Branches())


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, data in models():
        (folder / f"{name}.tflite").write_bytes(data)
