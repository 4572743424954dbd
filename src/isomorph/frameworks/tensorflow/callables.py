"""Keras models, signatures and functions as programs, and as the calls that deploy them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.util import nest

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.frameworks.tensorflow.freeze import by_number, freeze
from isomorph.frameworks.tensorflow.model import TfModel
from isomorph.frameworks.tensorflow.program import tensor_name
from isomorph.frameworks.tensorflow.silence_logs import quietly

_PREFERRED = ("serving_default", "serve", "predict", "call")


def from_keras(model: Any, batch: int | None = None) -> TfModel:  # noqa: ANN401
    """A Keras model in inference; its inputs and outputs by the names of its layers.

    ``batch`` takes the place of every first axis that has no size.
    """
    struct = _input_struct(model)
    inputs = tf.nest.flatten(struct)
    names = _unique([_layer_of(tensor) for tensor in inputs])
    specs = [
        tf.TensorSpec(
            fixed_batch(tensor.shape, batch), tf.dtypes.as_dtype(_dtype(tensor)), name=f"input_{k}"
        )
        for k, tensor in enumerate(inputs)
    ]

    def infer(*tensors: Any) -> Any:  # noqa: ANN401
        return model(tf.nest.pack_sequence_as(struct, tensors), training=False)

    with quietly():
        # Keras layers are traced as they are; autograph has nothing to rewrite in them.
        function = tf.function(infer, autograph=False).get_concrete_function(*specs)
    # Behind these a function captures variables.
    placed = [
        (name, tensor_name(each.name)) for name, each in zip(names, function.inputs, strict=False)
    ]
    keys, unordered = _keras_outputs(model, function.structured_outputs)
    with quietly():
        program = freeze(function, placed, keys, unordered=unordered)
    return TfModel(
        kind="keras",
        program=program,
        graph=lambda tensors: tf.nest.flatten(function(*tensors)),
        eager=lambda tensors: tf.nest.flatten(infer(*tensors)),
        origin=(model, function),
    )


def fixed_batch(shape: Sequence[int | None], batch: int | None) -> tuple[int | None, ...]:
    """The shape with this batch, where it has none of its own."""
    given = tuple(shape)
    return (batch, *given[1:]) if batch is not None and given and given[0] is None else given


def _input_struct(model: Any) -> Any:  # noqa: ANN401
    """The inputs, nested as the model wants them."""
    try:
        struct = model.input
    except (AttributeError, ValueError, RuntimeError):
        # A Sequential model that was never called knows its inputs all the same.
        struct = model.inputs[0] if getattr(model, "inputs", None) else None
    if struct is None:
        raise _no_inputs()
    return struct


def _no_inputs() -> UnreadableModelError:
    return UnreadableModelError(
        "NO_SIGNATURE", "the Keras model does not declare its inputs",
        why="it is a subclass of Model, or was never built",
        fix="export it as a SavedModel: model.export(folder)",
    )  # fmt: skip


def _layer_of(tensor: Any) -> str:  # noqa: ANN401
    history = getattr(tensor, "_keras_history", None)
    operation = getattr(history, "operation", None) or getattr(history, "layer", None)
    return str(operation.name if operation is not None else tensor.name).partition(":")[0]


def _dtype(tensor: Any) -> Any:  # noqa: ANN401
    return getattr(tensor.dtype, "name", tensor.dtype)


def _keras_outputs(model: Any, structured: Any) -> tuple[list[str], bool]:  # noqa: ANN401
    """The outputs' names in TensorFlow's order, and whether they are a dict, without order."""
    flat = nest.flatten_with_joined_string_paths(structured, separator=".")
    if isinstance(structured, Mapping):
        return _unique([path for path, _ in flat]), len(flat) > 1
    layers = [_layer_of(tensor) for tensor in model.outputs]
    return _unique(layers), False


def _unique(names: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        count, free = 1, name
        while free in chosen:
            free, count = f"{name}_{count}", count + 1
        chosen.append(free)
    return chosen


def from_saved_model(loaded: Any, location: str) -> TfModel:  # noqa: ANN401
    """The signature that serves, or the only one there is."""
    function = _signature(loaded, location)
    # A dict has no order of its own: TensorFlow flattens it by its sorted keys.
    keys = sorted(function.structured_outputs)
    names = _argument_names(function)
    # Behind these a function captures variables.
    placed = [
        (name, tensor_name(each.name)) for name, each in zip(names, function.inputs, strict=False)
    ]
    numbered = by_number(keys)
    with quietly():
        program = freeze(
            function, placed, keys, unordered=len(keys) > 1 and not numbered, numbered=numbered
        )
    order = [port.name for port in program.outputs]

    def call(given: Sequence[Any]) -> Sequence[Any]:
        result = function(**dict(zip(names, given, strict=True)))
        return [result[key] for key in order]

    return TfModel(kind="savedmodel", program=program, graph=call, origin=(loaded, function))


def _signature(loaded: Any, location: str) -> Any:  # noqa: ANN401
    signatures = loaded.signatures
    names = [name for name in signatures if not name.startswith("__")]
    for name in _PREFERRED:
        if name in names:
            return signatures[name]
    if len(names) == 1:
        return signatures[names[0]]
    raise UnreadableModelError(
        "NO_SIGNATURE",
        "the SavedModel has no signature" if not names else "no signature is the obvious one",
        file=location,
        why=f"signatures: {', '.join(names) or 'none'}; looked for {', '.join(_PREFERRED)}",
        fix="save it with signatures={'serving_default': function}",
    )


def _argument_names(function: Any) -> list[str]:  # noqa: ANN401
    words = getattr(function, "_arg_keywords", None)
    return list(words) if words else sorted(function.structured_input_signature[1])


def from_function(function: Any, example: Mapping[str, Any]) -> TfModel:  # noqa: ANN401
    """A ``tf.function`` with a signature, or with example arrays to make one from."""
    concrete = concrete_of(function, example)
    arguments = _arguments_of(concrete)
    flat = nest.flatten_with_joined_string_paths(concrete.structured_outputs, separator=".")
    named = isinstance(concrete.structured_outputs, Mapping)
    keys = [path if named else f"output_{place}" for place, (path, _) in enumerate(flat)]
    count = len(arguments)
    placed = [
        (name, tensor_name(each.name))
        for name, each in zip(arguments, concrete.inputs[:count], strict=True)
    ]
    with quietly():
        program = freeze(concrete, placed, keys, unordered=named and len(keys) > 1)

    def call(given: Sequence[Any]) -> Sequence[Any]:
        return list(tf.nest.flatten(concrete._call_flat(list(given), concrete.captured_inputs)))

    return TfModel(kind="function", program=program, graph=call, origin=concrete)


def concrete_of(function: Any, example: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The concrete function: itself, by its own signature, or by the example arrays."""
    if not hasattr(function, "get_concrete_function"):
        return function
    places = sorted((name for name in example if name.isdigit()), key=int)
    named = {name: _spec(array) for name, array in example.items() if not name.isdigit()}
    try:
        with quietly():
            if getattr(function, "input_signature", None) is not None:
                return function.get_concrete_function()
            return function.get_concrete_function(*(_spec(example[p]) for p in places), **named)
    except (TypeError, ValueError) as error:
        raise UsageError(
            "EXAMPLE_NEEDED", "the tf.function does not declare its inputs",
            why=" ".join(str(error).split())[:200],
            fix="give inputs, or declare input_signature=[tf.TensorSpec(…)]",
        ) from error  # fmt: skip


def _spec(array: Any) -> Any:  # noqa: ANN401
    tensor = tf.convert_to_tensor(array)
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _arguments_of(concrete: Any) -> list[str]:  # noqa: ANN401
    args, kwargs = concrete.structured_input_signature
    flat = [spec for spec in tf.nest.flatten((args, kwargs)) if isinstance(spec, tf.TensorSpec)]
    return _unique([spec.name or f"input_{place}" for place, spec in enumerate(flat)])
