"""TensorFlow and Keras to TFLite by TensorFlow's own converter, in every width it offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from isomorph import registry
from isomorph.core.conversion import AS_IS, Order, Workaround
from isomorph.core.converter_abilities import ReleaseNeeds


class TensorflowToTflite:
    """``tf.lite.TFLiteConverter`` on a SavedModel without variables.

    A function whose variables are not frozen converts without an error and computes nonsense with
    Keras 3, so the frozen graph is what it is given.
    """

    name = "tensorflow_to_tflite"
    source, target, suffix = "tensorflow", "tflite", ".tflite"
    widths = frozenset({AS_IS, "float16", "dynamic", "int8", "int16x8"})
    packages = ("tensorflow",)
    install = "pip install 'isomorph[tensorflow]'"
    worker = "tensorflow"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="fixed batch",
            description="the batch is fixed at 1: TFLite converts recurrent layers with no other",
            options={"batch": "1"},
        ),
        Workaround(
            name="float where needed",
            description="operators without an integer kernel stay in float",
            options={"fallback": "float", "batch": "1"},
        ),
    )
    loses = (
        "gradients and training mode",
        "layers, losses and custom objects of Keras",
        "the names of nodes: they are joined",
    )
    releases = MappingProxyType({
        name: ReleaseNeeds(statement="import tensorflow")
        for name in ("tensorflow", "tensorflow-cpu")
    })  # fmt: skip

    def convert(self, order: Order) -> Sequence[str]:
        """Write the flatbuffer."""
        model = registry.framework("tensorflow").load(order.source, order.options).native
        import tensorflow as tf

        from isomorph.frameworks.tensorflow.import_graph import (
            keywords,
            with_batch,
            write_saved_model,
        )

        batch = int(order.options["batch"]) if "batch" in order.options else None
        program = with_batch(model, batch)
        with TemporaryDirectory(dir=Path(order.target).parent) as folder:
            write_saved_model(program, Path(folder) / "frozen", batch)
            converter = tf.lite.TFLiteConverter.from_saved_model(str(Path(folder) / "frozen"))
            _narrow(converter, order, keywords(program))
            Path(order.target).write_bytes(converter.convert())
        return ("converted from the frozen graph, without variables",)


def _narrow(converter: Any, order: Order, names: Mapping[str, str]) -> None:  # noqa: ANN401
    import tensorflow as tf

    if order.width == AS_IS:
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if order.width == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if order.width not in {"int8", "int16x8"}:
        return
    converter.representative_dataset = lambda: _representative(order, names)
    integers = {
        "int8": tf.lite.OpsSet.TFLITE_BUILTINS_INT8,
        "int16x8": tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8,
    }
    converter.target_spec.supported_ops = [integers[order.width]]
    if order.options.get("fallback") == "float":
        converter.target_spec.supported_ops.append(tf.lite.OpsSet.TFLITE_BUILTINS)


def _representative(order: Order, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Each sample under the names of the signature, one row at a time where the batch is fixed."""
    import numpy as np

    for path in order.samples:
        with np.load(path, allow_pickle=False) as arrays:
            given = {names[name]: arrays[name] for name in arrays.files}
        if order.options.get("batch") == "1":
            rows = max(len(array) for array in given.values())
            yield from (
                {name: array[row : row + 1] for name, array in given.items()} for row in range(rows)
            )
        else:
            yield given
