"""Forms of TFLite operators: those of TensorFlow that become one operator there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tensorflow as tf

from networks.operators import of_tensorflow
from networks.operators.form import Form


def forms(operators: Sequence[str]) -> Iterator[Form]:
    """Of these TensorFlow operators, as far as TFLite has kernels for them."""
    for form in of_tensorflow.forms(operators):
        with TemporaryDirectory(prefix="isomorph-operators-") as folder:
            try:
                write(Path(folder, "one.tflite"), {form.op: form})
            except Exception:  # TFLite has no such operator
                continue
        yield form


def write(path: Path, chosen: Mapping[str, Form]) -> dict[str, Any]:
    """One TFLite model of these forms side by side; its arguments by name."""
    saved = path.with_suffix("")
    arrays = of_tensorflow.write(saved, chosen)
    path.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert())
    return arrays
