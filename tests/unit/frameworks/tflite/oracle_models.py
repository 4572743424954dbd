"""Keras networks as TFLite files, in every precision: ``python tflite_oracle_models.py FOLDER``.

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
from keras import layers

RNG = np.random.default_rng(3)


def cnn():
    """More than 1,024 weights in a layer: below that the converter quantizes nothing."""
    image = keras.Input((12, 12, 3), batch_size=2, name="image")
    y = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu6")(image)
    skip = layers.Conv2D(16, 3, padding="same")(y)
    skip = layers.BatchNormalization()(skip)
    y = layers.Add()([y, layers.LeakyReLU(negative_slope=0.2)(skip)])
    y = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2)(y)
    y = layers.Activation("hard_swish")(y)
    y = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(y)
    y = layers.Concatenate()([layers.MaxPooling2D(2)(y), layers.AveragePooling2D(2)(y)])
    y = layers.UpSampling2D(2, interpolation="bilinear")(y)
    y = layers.GlobalAveragePooling2D()(layers.PReLU(shared_axes=[1, 2])(y))
    y = layers.Dense(80, activation="tanh")(y)
    return keras.Model(image, layers.Dense(5, activation="softmax")(y))


def recurrent(layer, **settings):
    x = keras.Input((6, 12), batch_size=2, name="steps")
    y = layer(20, return_sequences=True, **settings)(x)
    y = layer(20)(y)
    return keras.Model(x, layers.Dense(3)(y))


def both_ways():
    x = keras.Input((6, 12), batch_size=2, name="steps")
    y = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    return keras.Model(x, layers.Dense(3)(y))


def transformer():
    words = keras.Input((7, 32), batch_size=2, name="words")
    y = layers.Dense(32)(words)
    heads = layers.MultiHeadAttention(4, 8)(y, y)
    y = layers.LayerNormalization()(layers.Add()([y, heads]))
    inner = layers.Dense(64, activation="gelu")(y)
    y = layers.LayerNormalization()(layers.Add()([y, layers.Dense(32)(inner)]))
    return keras.Model(words, layers.Dense(4, activation="sigmoid")(layers.Flatten()(y)))


def with_norms(model):
    """Statistics of a trained network: a fresh one has means of zero and deviations of one."""
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            drawn = [RNG.normal(size=w.shape) for w in layer.get_weights()]
            drawn[3] = np.abs(drawn[3]) + 0.5
            layer.set_weights(drawn)
    return model


def written(model, **settings):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    for key, value in settings.items():
        setattr(converter, key, value)
    return converter.convert()


def samples(model):
    shape = model.inputs[0].shape

    def draw():
        for _ in range(6):
            yield [RNG.normal(size=shape).astype(np.float32)]

    return draw


def spec(*words):
    ops = {getattr(tf.lite.OpsSet, word) for word in words}
    return tf.lite.TargetSpec(supported_ops=ops)


def models():
    default = {tf.lite.Optimize.DEFAULT}
    half = tf.lite.TargetSpec(supported_types={tf.float16})
    whole, wide = (
        spec("TFLITE_BUILTINS_INT8"),
        spec("EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8", "TFLITE_BUILTINS"),
    )
    keras.utils.set_random_seed(1)
    nets = {
        "cnn": with_norms(cnn()),
        "lstm": recurrent(layers.LSTM),
        "gru": recurrent(layers.GRU),
        "rnn": recurrent(layers.SimpleRNN),
        "both_ways": both_ways(),
        "transformer": transformer(),
    }
    for name, net in nets.items():
        yield f"{name}_float", written(net)
    for name in ("cnn", "lstm", "transformer"):
        yield f"{name}_dynamic", written(nets[name], optimizations=default)
        yield f"{name}_float16", written(nets[name], optimizations=default, target_spec=half)
    for name in ("cnn", "transformer"):
        given = {"optimizations": default, "representative_dataset": samples(nets[name])}
        yield f"{name}_int8", written(
            nets[name], target_spec=whole, inference_input_type=tf.int8,
            inference_output_type=tf.int8, **given,
        )  # fmt: skip
        if name == "cnn":  # LiteRT has no SQUARED_DIFFERENCE of int16
            yield f"{name}_int16", written(nets[name], target_spec=wide, **given)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, data in models():
        (folder / f"{name}.tflite").write_bytes(data)
