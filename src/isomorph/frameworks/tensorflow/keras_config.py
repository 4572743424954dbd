"""What a Keras file would run when it is loaded, decided by reading its JSON alone.

Keras is not imported here, and neither is TensorFlow. What belongs to training (the compiled
loss, metrics and optimizer) is never loaded, so it is not looked at either.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.core.lazy import require
from isomorph.core.untrusted_json import read_json
from isomorph.store.zip_members import members
from isomorph.store.zip_safety import BOMB_BYTES, BOMB_RATIO, DAMAGE

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_CODE = {
    "Lambda": "it holds Python bytecode",
    "__lambda__": "it holds Python bytecode",
    "TFSMLayer": "it loads another SavedModel from a path",
    "TorchModuleWrapper": "it unpickles a PyTorch module",
    "JaxLayer": "it holds Python bytecode",
    "FlaxLayer": "it holds Python bytecode",
}
# Where Keras keeps what a network is made of. `keras.utils` and its like can fetch and write.
_KERAS = re.compile(
    r"(tf_)?keras(\.src|\.api)?(\._v2|\._tf_keras|\.keras)*(\.(layers|models|engine|initializers|"
    r"regularizers|constraints|activations|ops|dtype_policies|mixed_precision|random|quantizers|"
    r"losses|metrics|optimizers|applications|backend|legacy|feature_column)(\..*)?)?"
)
# What zipfile, zlib, json and h5py raise where bytes are not what they should be: besides their
# own errors a RuntimeError (also NotImplementedError and RecursionError) for claims they cannot
# follow, a ValueError for text and numbers, a KeyError or TypeError for what is not there.
_DAMAGE = (*DAMAGE, LookupError, TypeError, OverflowError)
_NOT_TRAINING = frozenset({"compile_config", "training_config", "optimizer_config"})
_TF_FUNCTION = re.compile(
    r"((math|nn|linalg|image|signal|bitwise|random|strings|sets|sparse|ragged|quantization|"
    r"__operators__|experimental\.numpy|keras\.(activations|backend|layers))\.\w+(\.\w+)*|"
    r"(?!py_function|numpy_function|load_|print|function|recompute|custom_gradient|graph_util)\w+)"
)


def refuse_unsafe_archive(path: Path) -> None:
    """Refuse a .keras file that would run code of its own."""
    for found in _threats(archive_config(path)):
        raise _unsafe(path, *found)
    try:
        for member in members(path, ".h5"):
            _refuse_links(path, member)
    except _DAMAGE as error:
        raise _unreadable(path, "its weights", error) from error


def refuse_unsafe_hdf5(path: Path) -> None:
    """Refuse an .h5 file that would run code of its own; that format has no safe mode."""
    for found in _threats(hdf5_config(path)):
        raise _unsafe(path, *found, note="; the .h5 format has no safe mode")
    with path.open("rb") as file:
        _refuse_links(path, file)


def archive_config(path: Path) -> Any:  # noqa: ANN401
    """The ``config.json`` of a .keras file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return read_json(archive.read("config.json"))
    except _DAMAGE as error:
        raise _unreadable(path, "config.json", error) from error


def hdf5_config(path: Path) -> Any:  # noqa: ANN401
    """The ``model_config`` of an .h5 file."""
    h5py = require("h5py", extra="tensorflow", needed_for="an .h5 model")
    try:
        with h5py.File(path, "r") as file:
            text = file.attrs.get("model_config")
    except _DAMAGE as error:
        raise _unreadable(path, "HDF5", error) from error
    if text is None:
        raise UnreadableModelError(
            "WEIGHTS_ONLY", "this file holds weights without a network", file=str(path),
            why="it has no attribute model_config; save_weights writes such files",
            fix="save the whole model: model.save('model.keras')",
        )  # fmt: skip
    try:
        return read_json(text)
    except _DAMAGE as error:
        raise _unreadable(path, "model_config", error) from error


def _threats(config: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """What would run, and why that matters."""
    for entry in _entries(config):
        name = entry.get("class_name", "")
        inner = entry.get("config")
        label = str(inner.get("name", name)) if isinstance(inner, Mapping) else str(name)
        registered = str(entry.get("registered_name") or "").rpartition(">")[2]
        # A class that is not even a word is damage; Keras will report it.
        for word in (name, registered):
            if isinstance(word, str) and word in _CODE:
                yield f"layer {label!r} is a {word}", _CODE[word]
        module = entry.get("module")
        if isinstance(module, str) and module != "builtins" and not _KERAS.fullmatch(module):
            yield f"{label!r} comes from the module {module!r}", "loading it imports that module"
        if module == "builtins" and not _is_plain_word(inner):
            yield f"{label!r} names the builtin {str(inner)[:80]!r}", "it would be called"
        if name == "TFOpLambda" and isinstance(inner, Mapping):
            function = str(inner.get("function", ""))
            if not _TF_FUNCTION.fullmatch(function):
                yield f"layer {label!r} calls tf.{function}", "it can reach outside the graph"


def _is_plain_word(value: Any) -> bool:  # noqa: ANN401
    # Keras writes an activation function as {"module": "builtins", "config": "relu"}.
    return value is None or not isinstance(value, str) or re.fullmatch(r"\w+", value) is not None


def _entries(config: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401
    waiting = [config]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            if "class_name" in item:
                yield item
            waiting += [value for key, value in item.items() if key not in _NOT_TRAINING]
        elif isinstance(item, list):
            waiting += item


def _refuse_links(path: Path, file: Any) -> None:  # noqa: ANN401
    """HDF5 can point into other files, and can promise far more than it stores."""
    h5py = require("h5py", extra="tensorflow", needed_for="the weights of a Keras model")
    promised = stored = 0
    try:
        with h5py.File(file, "r") as hdf5:
            for where, item in _datasets(h5py, path, hdf5):
                if item.external or item.is_virtual:
                    raise _escape(path, where)
                promised += item.nbytes
                stored += item.id.get_storage_size()
    except _DAMAGE as error:
        raise _unreadable(path, "its weights", error) from error
    if promised > BOMB_BYTES and promised > BOMB_RATIO * stored:
        raise RefusedError(
            "ARCHIVE_BOMB", "the weights would unpack to far more than the file holds",
            file=str(path), why=f"{stored} bytes would become {promised}",
            fix="save the model again without compression if it is yours",
        )  # fmt: skip


def _datasets(h5py: Any, path: Path, hdf5: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    waiting = [hdf5]
    while waiting:
        group = waiting.pop()
        for name in group:
            where = f"{group.name.rstrip('/')}/{name}"
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise _escape(path, f"{where} → {link.filename}")
            if isinstance(link, h5py.SoftLink):
                continue
            item = group[name]
            if isinstance(item, h5py.Group):
                waiting.append(item)
            elif isinstance(item, h5py.Dataset):
                yield where, item


def _escape(path: Path, where: str) -> RefusedError:
    return RefusedError(
        "EXTERNAL_DATA_ESCAPE", "the weights point to another file", file=str(path), where=where,
        fix="save the model again with its own weights",
    )  # fmt: skip


def _unsafe(path: Path, where: str, why: str, *, note: str = "") -> RefusedError:
    return RefusedError(
        "UNSAFE_KERAS", "refused to load a Keras model that brings code along", file=str(path),
        where=where, why=f"{why}{note}; Keras was not started",
        fix="if you trust the file, add --trust",
    )  # fmt: skip


def _unreadable(path: Path, where: str, error: Exception) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_TRUNCATED", "the Keras file is cut off or damaged", file=str(path), where=where,
        why=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
        fix="save or download it again",
    )  # fmt: skip
