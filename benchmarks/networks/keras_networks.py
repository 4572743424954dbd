"""Keras networks and their TFLite conversions: built here, seeded, nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from networks.files import Files, folder_of

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SEED = 0
CALIBRATED_WITH = 16
Example = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One network: how it is built, an input it runs on, and whether it is quantized."""

    name: str
    build: Callable[[], Any]
    example: Callable[[np.random.Generator], Example]
    quantized: bool = False


def convolutional() -> Any:
    """Four stages of residual blocks over 96×96 images: 2.8 million parameters."""
    import keras
    from keras import layers

    def block(x: Any, width: int, stride: int) -> Any:
        y = layers.Conv2D(width, 3, stride, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
        y = layers.BatchNormalization()(y)
        if stride != 1 or x.shape[-1] != width:
            x = layers.Conv2D(width, 1, stride, use_bias=False)(x)
        return layers.ReLU()(layers.Add()([x, y]))

    image = keras.Input((96, 96, 3), batch_size=1, name="image")
    y = layers.Conv2D(32, 3, 2, padding="same", activation="relu")(image)
    for width, stride in ((32, 1), (64, 2), (128, 2), (256, 2)):
        y = block(block(y, width, stride), width, 1)
    y = layers.Dense(100, activation="softmax")(layers.GlobalAveragePooling2D()(y))
    model = keras.Model(image, y)
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.set_weights(_trained(layer.get_weights()))
    return model


def recurrent() -> Any:
    """Two layers of LSTM over 64 steps, and a class for the last step: 0.9 million parameters."""
    import keras
    from keras import layers

    series = keras.Input((64, 64), batch_size=1, name="series")
    y = layers.LSTM(256)(layers.LSTM(256, return_sequences=True)(series))
    return keras.Model(series, layers.Dense(32)(y))


def _trained(fresh: list[Example]) -> list[Example]:
    """A normalization as after training: fresh from its constructor it normalizes nothing."""
    draw = np.random.default_rng(SEED)
    size = fresh[0].shape
    gamma, beta = draw.uniform(0.5, 1.5, size), 0.2 * draw.standard_normal(size)
    return [gamma, beta, 0.2 * draw.standard_normal(size), draw.uniform(0.5, 2.0, size)]


def _image(draw: np.random.Generator) -> Example:
    return draw.random((1, 96, 96, 3), dtype=np.float32)


def _series(draw: np.random.Generator) -> Example:
    return draw.standard_normal((1, 64, 64), dtype=np.float32)


NETWORKS = (
    Network(name="keras_cnn", build=convolutional, example=_image),
    Network(name="keras_lstm", build=recurrent, example=_series),
    Network(name="int8_cnn", build=convolutional, example=_image, quantized=True),
)


def written(network: Network) -> Files:
    """The files of one network; made unless this very source has made them before."""
    import keras
    import tensorflow as tf

    folder = folder_of(Path(__file__), tf.__version__)
    keras.utils.set_random_seed(SEED)
    model = network.build()
    files = Files(
        name=network.name,
        reference=folder / f"{network.name}.keras",
        candidate=folder / f"{network.name}.tflite",
        inputs=folder / f"{network.name}.npz",
        parameters=int(model.count_params()),
    )
    if not files.inputs.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write(network, model, files)
    return files


def _write(network: Network, model: Any, files: Files) -> None:
    from isomorph.frameworks.tensorflow.silence_logs import quietly

    draw = np.random.default_rng(SEED)

    def seen() -> Iterator[list[Example]]:
        for _ in range(CALIBRATED_WITH):
            yield [network.example(draw)]

    with quietly():
        model.save(files.reference)
        files.candidate.write_bytes(_converted(network, model, seen))
    np.savez(files.inputs, **{model.inputs[0].name: network.example(draw)})


def _converted(network: Network, model: Any, seen: Callable[[], Iterator[list[Example]]]) -> bytes:
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if network.quantized:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = seen
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    content: bytes = converter.convert()
    return content
