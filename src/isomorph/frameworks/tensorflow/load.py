"""From a file or folder to a model: what may be opened, by whom it is read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from isomorph.core.errors import IsomorphError, UnreadableModelError, message_lines
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.tensorflow.assemble import assemble
from isomorph.frameworks.tensorflow.callables import from_keras, from_saved_model
from isomorph.frameworks.tensorflow.model import TfModel
from isomorph.frameworks.tensorflow.silence_logs import import_quietly, quietly
from isomorph.store.intact_files import NOT_BUILT, NOT_BUILT_FIX, intact
from isomorph.store.zip_safety import DAMAGE

_NO_OUTPUT = frozenset({"Const", "Placeholder", "NoOp", "Assert", "Print", "PrintV2"})


def load_saved_model(folder: Path) -> TfModel:
    """A SavedModel folder."""
    try:
        with quietly():
            loaded = tf.saved_model.load(str(folder))
        return from_saved_model(loaded, str(folder))
    except IsomorphError:
        raise
    except Exception as error:  # TensorFlow raises whatever its readers raise
        raise unreadable(folder, error) from error


def load_keras(path: Path, *, legacy: bool, trusted: bool) -> tuple[TfModel, tuple[str, ...]]:
    """A .keras or .h5 file; by Keras 3, and by tf_keras where Keras 3 refuses."""
    keras = import_quietly("keras", "a Keras model")
    with _named_as_it_is(path, ".h5" if legacy else ".keras") as named:
        try:
            with quietly():
                model = keras.saving.load_model(named, compile=False, safe_mode=not trusted)
        except Exception as error:  # Keras raises whatever its readers raise
            if not legacy and _keras_major(path) != 2:
                raise unreadable(path, error) from error
            model = _load_with_tf_keras(path, named, error)
            note = "Keras 3 refused the file; tf_keras (Keras 2) read it"
            return _traced(model, path), (note,)
    return _traced(model, path), ()


def _traced(model: Any, path: Path) -> TfModel:  # noqa: ANN401
    """What could be read may still be no network: a name that is none, shapes that do not meet."""
    try:
        return from_keras(model)
    except IsomorphError:
        raise
    except Exception as error:  # layers raise whatever they like when they are called
        raise UnreadableModelError(
            "INVALID_GRAPH", "the Keras model was read, but it cannot be called", file=str(path),
            why=_first_line(error), fix="call it once where it was made, and save it again",
        ) from error  # fmt: skip


@contextmanager
def _named_as_it_is(path: Path, suffix: str) -> Iterator[Path]:
    """Keras goes by the suffix where we go by the content, so it gets a link that is right."""
    if path.suffix == suffix:
        yield path
        return
    with TemporaryDirectory(prefix="isomorph-") as folder:
        link = Path(folder) / f"model{suffix}"
        link.symlink_to(path.resolve())
        yield link


def _load_with_tf_keras(path: Path, named: Path, refused: Exception) -> Any:  # noqa: ANN401
    try:
        with quietly():
            old = import_quietly("tf_keras", "a file of Keras 2")
            return old.models.load_model(str(named), custom_objects=_as_then(old), compile=False)
    except IsomorphError:
        raise unreadable(path, refused) from refused
    except Exception as error:  # its older sibling, likewise
        raise unreadable(path, refused, also=f"tf_keras: {_first_line(error)}") from error


def _as_then(keras: Any) -> dict[str, Any]:  # noqa: ANN401
    """Layers whose default changed: files without ``reset_after`` mean the old one."""

    class GRU(keras.layers.GRU):  # type: ignore[misc]
        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Any:  # noqa: ANN401
            return keras.layers.GRU.from_config({"reset_after": False, **config})

    return {"GRU": GRU}


def _keras_major(path: Path) -> int:
    try:
        with zipfile.ZipFile(path) as archive:
            version = str(read_json(archive.read("metadata.json")).get("keras_version", ""))
    except (*DAMAGE, KeyError, AttributeError, RecursionError):
        return 3
    return int(version.partition(".")[0]) if version[:1].isdigit() else 3


def load_graph(path: Path) -> TfModel:
    """A frozen GraphDef: its placeholders are the inputs, what nobody reads are the outputs."""
    graph_def = tf.compat.v1.GraphDef()
    try:
        graph_def.ParseFromString(path.read_bytes())
        return _from_own_graph_def(graph_def)
    except IsomorphError:
        raise
    except DecodeError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # TensorFlow raises whatever its importer raises
        raise UnreadableModelError(
            "INVALID_GRAPH", "TensorFlow refuses the graph", file=str(path),
            why=_first_line(error), fix="export or download it again",
        ) from error  # fmt: skip


def from_graph_def(graph_def: Any) -> TfModel:  # noqa: ANN401
    """A GraphDef in memory, which stays as it is."""
    own = tf.compat.v1.GraphDef()
    own.CopyFrom(graph_def)
    return _from_own_graph_def(own)


def _from_own_graph_def(graph_def: Any) -> TfModel:  # noqa: ANN401
    _refuse_duplicates(graph_def)
    read = {
        reference.removeprefix("^").partition(":")[0]
        for node in graph_def.node
        for reference in node.input
    }
    inputs = [(node.name, node.name) for node in graph_def.node if node.op == "Placeholder"]
    outputs = [
        (node.name, node.name)
        for node in graph_def.node
        if node.name not in read and node.op not in _NO_OUTPUT
    ]
    if not outputs:
        raise UnreadableModelError("NO_OUTPUTS", "the graph computes nothing that could be read")
    return TfModel(kind="graph", program=assemble(graph_def, inputs, outputs))


def _refuse_duplicates(graph_def: Any) -> None:  # noqa: ANN401
    seen: set[str] = set()
    for node in graph_def.node:
        if node.name in seen:
            raise UnreadableModelError(
                "NOT_SSA", "two nodes have the same name, so their tensors have too",
                where=f"node {node.name!r}",
            )  # fmt: skip
        seen.add(node.name)


def unreadable(path: Path, error: Exception, *, also: str = "") -> UnreadableModelError:
    """The error for a file that TensorFlow or Keras refuses."""
    why = "; ".join(part for part in (_first_line(error), also) if part)
    if "Op type not registered" in str(error):
        return UnreadableModelError(
            "UNSUPPORTED_OP", "the model uses an operator that this TensorFlow does not have",
            file=str(path), why=why, fix="install the package that registers the operator",
        )  # fmt: skip
    if intact(path):
        return UnreadableModelError(
            NOT_BUILT, "Keras cannot build the model of the file", file=str(path), why=why,
            fix=NOT_BUILT_FIX,
        )  # fmt: skip
    return UnreadableModelError(
        "MODEL_TRUNCATED", "TensorFlow cannot read the model", file=str(path), why=why,
        fix="save or download it again; a model with custom layers is best exported: model.export",
    )  # fmt: skip


def _first_line(error: BaseException) -> str:
    lines = message_lines(error)
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
