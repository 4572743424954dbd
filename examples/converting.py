"""SavedModels and TFLite files for the examples, without the converters' messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from building import quiet

# Read when TensorFlow is imported: it says on every start which instructions it was built with.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

WAYS = ("plain", "dynamic range", "float16", "int8")


def saved_model(path: Path, function: Callable[[Any], Any]) -> Path:
    """A float32 vector ``x`` to a vector ``y``, as TensorFlow computes ``function``."""
    with quiet():
        import tensorflow as tf

        vector = tf.TensorSpec([None], tf.float32, name="x")
        traced = tf.function(lambda x: {"y": function(x)}, input_signature=[vector])
        tf.saved_model.save(tf.Module(), str(path), signatures=traced)
    return path


def keras_model(path: Path, layers: Callable[[Any], list[Any]], shape: tuple[int, ...]) -> Path:
    """A Keras file of a few layers behind an input of the whole ``shape``, batch included.

    The batch is fixed because TFLite converts recurrent layers with a fixed one alone.
    """
    with quiet():
        import keras

        keras.utils.set_random_seed(0)
        stack = [keras.Input(batch_shape=shape, name="x"), *layers(keras.layers)]
        keras.Sequential(stack).save(path)
    return path


def tflite(model: Path, way: str, samples: Iterable[np.ndarray]) -> Path:
    """The Keras file converted in one of the four ways; ``samples`` calibrate int8."""
    path = model.with_name(f"{model.stem} {way}.tflite")
    with quiet():
        import keras
        import tensorflow as tf

        folder = str(model.with_suffix(""))
        if not Path(folder).exists():
            network = keras.saving.load_model(model)
            # Keras would export a free batch, with which no recurrent layer can be converted.
            fixed = [tf.TensorSpec(network.input_shape, tf.float32, name="x")]
            network.export(folder, verbose=False, input_signature=fixed)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        if way != "plain":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if way == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if way == "int8":
            converter.representative_dataset = lambda: ([sample] for sample in samples)
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        path.write_bytes(converter.convert())
    return path


def stored_types(path: Path) -> dict[str, int]:
    """How many elements the tensors of a TFLite file have, by their type."""
    from ai_edge_litert.interpreter import Interpreter

    with quiet():
        details = Interpreter(str(path)).get_tensor_details()
    sizes: dict[str, int] = {}
    for one in details:
        kind = np.dtype(one["dtype"]).name
        sizes[kind] = sizes.get(kind, 0) + int(np.prod(one["shape"]))
    return sizes
