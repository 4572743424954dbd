"""Small TensorFlow and Keras models for tests, made without their warnings."""

from pathlib import Path

import numpy as np

from isomorph.frameworks.tensorflow.silence_logs import import_tensorflow, quietly


def tensorflow():
    return import_tensorflow("a test")


def network():
    """Convolution, normalization, two branches and a loop over time; ``image`` to ``logits``."""
    tensorflow()
    import keras
    from keras import layers

    with quietly():
        keras.utils.set_random_seed(0)
        image = keras.Input((6, 6, 3), name="image")
        y = layers.Conv2D(4, 3, padding="same", name="conv")(image)
        y = layers.BatchNormalization(name="norm")(y)
        y = layers.Multiply()([layers.ReLU(max_value=6.0)(y), layers.Activation("sigmoid")(y)])
        y = layers.LSTM(7, name="memory")(layers.Reshape((6, 24))(y))
        return keras.Model(image, layers.Dense(5, name="logits")(y))


def two_headed():
    """A dict of two outputs whose sorted order is not the order they were given in."""
    tensorflow()
    import keras
    from keras import layers

    with quietly():
        keras.utils.set_random_seed(1)
        given = keras.Input((4,), name="given")
        return keras.Model(given, {"zeta": layers.Dense(2)(given), "alpha": layers.Dense(3)(given)})


def saved(model, path: Path) -> Path:
    """A Keras model as .keras or .h5 by its suffix, else exported as a SavedModel."""
    with quietly():
        if path.suffix:
            model.save(path)
        else:
            model.export(str(path), verbose=False)
    return path


def image(seed=0):
    return np.random.default_rng(seed).normal(size=(2, 6, 6, 3)).astype(np.float32)


def graph(*nodes, functions=()):
    """A GraphDef from (name, op, inputs, attributes) with plain values for attributes."""
    tf = tensorflow()
    made = tf.compat.v1.GraphDef()
    made.versions.producer = 1882
    for name, op, inputs, attributes in nodes:
        node = made.node.add(name=name, op=op, input=inputs)
        for key, value in attributes.items():
            set_attribute(node.attr[key], value)
    made.library.function.extend(functions)
    return made


def set_attribute(target, value):
    tf = tensorflow()
    if isinstance(value, np.ndarray):
        target.tensor.CopyFrom(tf.make_tensor_proto(value))
    elif isinstance(value, tf.DType):
        target.type = value.as_datatype_enum
    elif isinstance(value, bool):
        target.b = value
    elif isinstance(value, int):
        target.i = value
    elif isinstance(value, float):
        target.f = value
    elif isinstance(value, str):
        target.s = value.encode()
    elif isinstance(value, list):
        target.list.type.extend(item.as_datatype_enum for item in value)
    else:
        target.func.name = value.name


def placeholder(name):
    return (name, "Placeholder", [], {"dtype": tensorflow().float32})


def constant(name, value):
    tf = tensorflow()
    array = np.asarray(value)
    return (name, "Const", [], {"value": array, "dtype": tf.dtypes.as_dtype(array.dtype)})


def unary(name, op, given, **more):
    return (name, op, [given], {"T": tensorflow().float32, **more})


def binary(name, op, one, other, **more):
    return (name, op, [one, other], {"T": tensorflow().float32, **more})
