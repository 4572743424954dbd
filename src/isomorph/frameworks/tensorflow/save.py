"""A TensorFlow model written as a copy, in the format it was read from."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf

from isomorph.core.errors import RefusedError
from isomorph.core.model import Model
from isomorph.frameworks.tensorflow.model import TfModel
from isomorph.frameworks.tensorflow.silence_logs import quietly
from isomorph.store.atomic import refuse_link
from isomorph.store.targets import refuse_overwriting


def save(model: Model, path: Path) -> None:
    """Write beside the target and rename, so that nobody sees half a model."""
    _refuse_target(model, path)
    native: TfModel = model.native
    # Keras goes by the suffix, so the unfinished file needs the same one.
    unfinished = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        with quietly():
            _write(native, unfinished)
        if path.is_dir():
            shutil.rmtree(path)
        unfinished.replace(path)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        else:
            unfinished.unlink(missing_ok=True)


def _write(native: TfModel, path: Path) -> None:
    if native.kind == "keras":
        native.origin[0].save(path)
    elif native.kind == "graph":
        path.write_bytes(native.program.graph_def.SerializeToString(deterministic=True))
    elif native.kind == "savedmodel":
        loaded, function = native.origin
        tf.saved_model.save(loaded, str(path), signatures={"serving_default": function})
    else:
        write_function(native.origin, path)


def write_function(concrete: Any, folder: Path) -> None:  # noqa: ANN401
    """A concrete function as a SavedModel, with the variables it uses."""
    holder = tf.Module()
    # A SavedModel keeps only what hangs on its root.
    holder.function, holder.kept = concrete, list(concrete.graph.variables)
    tf.saved_model.save(holder, str(folder), signatures={"serving_default": concrete})


def _refuse_target(model: Model, path: Path) -> None:
    refuse_link(path)
    refuse_overwriting(path, model.location)
    if path.is_dir() and not (path / "saved_model.pb").is_file() and any(path.iterdir()):
        raise RefusedError(
            "OUTPUT_IS_FOLDER", "refused to replace a folder that is no SavedModel",
            file=str(path), fix="name a folder that does not exist",
        )  # fmt: skip
