"""Pairs from Keras: TFLite in int8, calibrated on the right inputs and on smaller ones.

python benchmarks/peer_tools/make_keras_pairs.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from peer_tools.pairs import Pair

# Calibrating on images a fifth as bright cuts what every layer may hold.
TOO_SMALL = 0.2
_FIRST_TWO = (
    "QUANTIZE:0", "tfl.quantize", "CONV_2D:1",
    "sequential_1/stem_1/Relu;sequential_1/stem_1/convolution",
)  # fmt: skip


def images() -> np.ndarray:
    """What the network is calibrated and asked with."""
    return np.random.default_rng(0).random((16, 24, 24, 3), dtype=np.float32)


def built() -> keras.Model:
    """Three convolutions and a head, with the same weights in every process."""
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            layers.Input((24, 24, 3)),
            layers.Conv2D(16, 3, padding="same", activation="relu", name="stem"),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu", name="first"),
            layers.Conv2D(16, 3, padding="same", activation="relu", name="second"),
            layers.GlobalAveragePooling2D(name="pool"),
            layers.Dense(64, activation="relu", name="wide"),
            layers.Dense(10, name="head"),
        ]
    )


def samples(scale: float) -> Callable[[], Iterator[list[np.ndarray]]]:
    """A representative data set as the converter wants it."""
    return lambda: ([scale * image[None]] for image in images())


def converter(model: keras.Model, scale: float | None) -> tf.lite.TFLiteConverter:
    """For float, or for int8 calibrated on images of that brightness."""
    made = tf.lite.TFLiteConverter.from_keras_model(model)
    if scale is not None:
        made.optimizations = [tf.lite.Optimize.DEFAULT]
        made.representative_dataset = samples(scale)
    return made


def main() -> None:
    folder, model = Path(sys.argv[1]), built()
    plain = converter(model, None).convert()
    for name, title, scale in (
        ("tflite_clean", "Keras → int8 TFLite, calibrated", 1.0),
        ("tflite_clipped", f"… calibrated on inputs {TOO_SMALL}× as large", TOO_SMALL),
    ):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        model.save(place / "model.keras")
        (place / "float.tflite").write_bytes(plain)
        (place / "int8.tflite").write_bytes(converter(model, scale).convert())
        np.savez(place / "inputs.npz", **{model.inputs[0].name: images()[:1]})
        # Every range is too small: the first two are those of the input and of the first layer.
        faulty = _FIRST_TWO if scale != 1.0 else ()
        Pair(
            name=name, title=title, reference="model.keras", candidate="int8.tflite",
            inputs="inputs.npz", lossy=True, faulty=faulty,
        ).write(place)  # fmt: skip


if __name__ == "__main__":
    main()
