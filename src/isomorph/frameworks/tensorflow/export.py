"""A live model written to a folder, where a worker process can load it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isomorph.core.errors import IsomorphError, RefusedError, UsageError
from isomorph.frameworks.tensorflow.callables import concrete_of
from isomorph.frameworks.tensorflow.keras_config import refuse_unsafe_archive
from isomorph.frameworks.tensorflow.save import write_function
from isomorph.frameworks.tensorflow.silence_logs import quietly


def write_live(source: Any, kind: str, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
    """A Keras model as .keras, or exported where that would carry code; a function exported."""
    try:
        if kind == "keras":
            return _write_keras(source, folder)
        if kind == "graph":
            path = folder / "graph.pb"
            path.write_bytes(source.SerializeToString(deterministic=True))
            return path
        path = folder / "function"
        with quietly():
            write_function(concrete_of(source, example), path)
    except IsomorphError:
        raise
    except Exception as error:  # saving runs the user's own layers
        raise UsageError(
            "NOT_EXPORTABLE", f"TensorFlow cannot save a {type(source).__name__}",
            why=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix="save it yourself, as .keras or with tf.saved_model.save, and give the path",
        ) from error  # fmt: skip
    return path


def _write_keras(model: Any, folder: Path) -> Path:  # noqa: ANN401
    """As a file that loads without trust: Python layers become the graph that they draw."""
    functional = getattr(model, "inputs", None) is not None and not _is_subclass(model)
    path = folder / "model.keras"
    if functional:
        with quietly():
            model.save(path)
        try:
            refuse_unsafe_archive(path)
        except RefusedError:
            path.unlink()
        else:
            return path
    folder = folder / "model"
    with quietly():
        model.export(str(folder), verbose=False) if _is_keras_3(model) else model.export(
            str(folder)
        )
    return folder


def _is_subclass(model: Any) -> bool:  # noqa: ANN401
    return type(model).__name__ not in {"Functional", "Sequential", "Model"}


def _is_keras_3(model: Any) -> bool:  # noqa: ANN401
    return any(kind.__module__.startswith("keras.") for kind in type(model).__mro__)
