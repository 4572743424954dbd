"""A frozen program as a TensorFlow function again, for converters that start from one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from isomorph.frameworks.tensorflow.batched_lists import with_sized_lists
from isomorph.frameworks.tensorflow.callables import fixed_batch, from_keras
from isomorph.frameworks.tensorflow.model import TfModel
from isomorph.frameworks.tensorflow.program import Port, TfProgram, native_name
from isomorph.frameworks.tensorflow.silence_logs import quietly

_UNFIT = re.compile(r"[^A-Za-z0-9_]")


def as_function(program: TfProgram, batch: int | None = None) -> Any:  # noqa: ANN401
    """A ``tf.function`` of the inputs by name to the outputs by name, without variables.

    ``batch`` takes the place of every first axis that has no size.
    """
    names = keywords(program)
    specs = [_spec(port, names[port.name], batch) for port in program.inputs]

    def infer(*given: Any) -> dict[str, Any]:  # noqa: ANN401
        fed = dict(zip((native_name(port.tensor) for port in program.inputs), given, strict=True))
        wanted = [native_name(port.tensor) for port in program.outputs]
        results = tf.graph_util.import_graph_def(
            program.graph_def, input_map=fed, return_elements=wanted, name=""
        )
        # An output that is an input must not be the very same tensor in a signature.
        return {
            port.name: tf.identity(result)
            for port, result in zip(program.outputs, results, strict=True)
        }

    return tf.function(infer, input_signature=specs, autograph=False)


def with_batch(model: TfModel, batch: int | None) -> TfProgram:
    """The program with this batch: traced anew where Keras can, else with its lists sized."""
    if batch is None:
        return model.program
    # The bodies of loops keep the shapes that they were traced with.
    if model.kind == "keras":
        return from_keras(model.origin[0], batch).program
    return with_sized_lists(model.program, batch)


def keywords(program: TfProgram) -> Mapping[str, str]:
    """Names that a signature can have, for the program's own."""
    return {port.name: _UNFIT.sub("_", port.name) or "input" for port in program.inputs}


def write_saved_model(program: TfProgram, folder: Path, batch: int | None = None) -> None:
    """The program as a SavedModel without variables."""
    function = as_function(program, batch)
    with quietly():
        concrete = function.get_concrete_function()
        holder = tf.Module()
        holder.function = function
        # Nobody trains a frozen graph, and the gradients of swish capture what is not in it.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(
            holder, str(folder), signatures={"serving_default": concrete}, options=options
        )


def _spec(port: Port, name: str, batch: int | None) -> Any:  # noqa: ANN401
    shape = None if port.spec.shape is None else fixed_batch(port.spec.shape, batch)
    return tf.TensorSpec(shape, tf.dtypes.as_dtype(port.spec.dtype or "float32"), name=name)
