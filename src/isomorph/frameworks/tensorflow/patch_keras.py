"""A Keras file with other weights, or another number or word in the configuration of a layer.

The file is copied as it is, with its optimizer and all that training left in it. Where a weight
lies in the file is found out by saving the model twice, before and after the weight is changed.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.tensorflow.edit import changed
from isomorph.frameworks.tensorflow.keras_config import HDF5_MAGIC
from isomorph.frameworks.tensorflow.program import TfProgram
from isomorph.frameworks.tensorflow.silence_logs import quietly
from isomorph.store.atomic import new_file

_ONE_ULP = 2.0**-23
_COUNTED = re.compile(r"_\d+$")
# TensorFlow's word, then those under which a layer keeps the same.
_CALLED = {
    "alpha": ("negative_slope", "alpha"), "strides": ("strides",), "padding": ("padding",),
    "dilations": ("dilation_rate",), "ksize": ("pool_size",), "epsilon": ("epsilon",),
}  # fmt: skip

Constants = Mapping[str, "np.ndarray[Any, Any]"]
Change = tuple[str, str | None, Any, Any]
"""A node or constant of the graph, its attribute, the value that it had and the one it gets."""


def write_keras(
    source: Path,
    model: Any,  # noqa: ANN401
    before: TfProgram,
    after: TfProgram,
    path: Path,
) -> None:
    """A copy of the file with what another program holds otherwise."""
    constants, nodes = changed(before, after)
    variables = {_name_of(each): each for each in model.variables}
    weights = {name: value for name, value in constants.items() if name in variables}
    changes: list[Change] = [
        (name, None, before.constants[name], value)
        for name, value in constants.items()
        if name not in weights
    ]
    old = {node.name: node for node in before.nodes}
    changes += [
        (name, word, old[name].attributes[word], value)
        for name, node in nodes.items()
        for word, value in node.attributes.items()
        if old[name].attributes.get(word) != value
    ]
    found = _places(source, model, {name: variables[name] for name in weights}, weights)
    data = source.read_bytes()
    write = _in_hdf5 if data.startswith(HDF5_MAGIC) else _in_archive
    with new_file(path) as stream:
        stream.write(write(data, found, changes))


def _name_of(variable: Any) -> str:  # noqa: ANN401
    return str(getattr(variable, "path", variable.name)).removesuffix(":0")


def _places(
    source: Path,
    model: Any,  # noqa: ANN401
    variables: Mapping[str, Any],
    weights: Constants,
) -> dict[str, np.ndarray[Any, Any]]:
    """Where the file keeps variables: what is saved otherwise once each has another value."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    before = _saved(source, model) if weights else {}
    for name, variable in variables.items():
        present = np.asarray(variable.numpy())
        try:
            variable.assign(weights[name])
            after = _saved(source, model)
        finally:
            variable.assign(present)
        moved = {
            place: each
            for place, each in after.items()
            if place not in before or not np.array_equal(before[place], each, equal_nan=True)
        }
        if len(moved) != 1:
            raise _refused(f"the file keeps {name!r} in {len(moved)} places, not in one")
        found |= moved
    return found


def _saved(source: Path, model: Any) -> dict[str, np.ndarray[Any, Any]]:  # noqa: ANN401
    with TemporaryDirectory(prefix="isomorph-") as folder:
        with source.open("rb") as file:
            legacy = file.read(len(HDF5_MAGIC)) == HDF5_MAGIC
        path = Path(folder) / ("model.h5" if legacy else "model.keras")
        with quietly():
            model.save(path)
        data = path.read_bytes() if legacy else _member(path.read_bytes())[1]
    with h5py.File(io.BytesIO(data), "r") as file:
        found: dict[str, np.ndarray[Any, Any]] = {}
        file.visititems(lambda name, item: _collect(found, name, item))
    return found


def _collect(found: dict[str, Any], name: str, item: Any) -> None:  # noqa: ANN401
    if isinstance(item, h5py.Dataset):
        found[name] = np.asarray(item[()])


def _member(archive: bytes) -> tuple[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        name = next((n for n in file.namelist() if n.endswith(".weights.h5")), None)
        if name is None:
            raise _refused("the weights lie in no HDF5 file")
        return name, file.read(name)


def _in_archive(data: bytes, weights: Constants, changes: list[Change]) -> bytes:
    name, stored = _member(data)
    done = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(done, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename == name and weights:
                content = _weights(stored, weights)
            if entry.filename == "config.json" and changes:
                content = _configured(content, changes)
            target.writestr(entry, content)
    return done.getvalue()


def _in_hdf5(data: bytes, weights: Constants, changes: list[Change]) -> bytes:
    def configure(file: Any) -> None:  # noqa: ANN401
        if changes:
            config = file.attrs["model_config"]
            plain = config.encode() if isinstance(config, str) else bytes(config)
            file.attrs["model_config"] = _configured(plain, changes).decode()

    return _weights(data, weights, configure)


def _weights(
    data: bytes, weights: Constants, more: Callable[[Any], None] = lambda _file: None
) -> bytes:
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        for name, value in weights.items():
            if name not in file or file[name].shape != value.shape:
                raise _refused(f"the file keeps no weight of that shape at {name!r}")
            file[name][...] = value
        more(file)
    return buffer.getvalue()


def _configured(content: bytes, changes: list[Change]) -> bytes:
    config = read_json(content)
    for name, word, old, new in changes:
        layer = _layer(config, name)
        if layer is None:
            raise _refused(f"no layer of the configuration is that of {name!r}")
        keys = [key for key in _keys(layer, word) if _like(layer[key], old, new) is not None]
        if len(keys) != 1:
            raise _refused(f"layer {layer['name']!r} does not keep {word or name!r} in one place")
        layer[keys[0]] = _like(layer[keys[0]], old, new)
    return json.dumps(config).encode()


def _layer(config: Any, node: str) -> dict[str, Any] | None:  # noqa: ANN401
    """The configuration of the innermost layer that the node was traced in."""
    words = [word for part in node.split("/") for word in (part, _COUNTED.sub("", part))]
    named = {each["name"]: each for each in _configurations(config) if each.get("name") in words}
    inner = [word for word in words if word in named]
    return named[inner[-1]] if inner else None


def _configurations(config: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    waiting = [config]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            inner = each.get("config")
            if "class_name" in each and isinstance(inner, dict) and "name" in inner:
                yield inner
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _keys(layer: Mapping[str, Any], word: str | None) -> list[str]:
    named = [key for key in _CALLED.get(word or "", ()) if key in layer]
    return named or [key for key in layer if key != "name"]


def _like(present: Any, old: Any, new: Any) -> Any:  # noqa: ANN401
    """The new value in the form of the present one; None where that one is not the old value."""
    if isinstance(present, str):
        same = isinstance(old, str) and present.lower() == old.lower()
        return new.lower() if same and isinstance(new, str) else None
    if isinstance(present, list):
        inner = [tuple(each[1:-1]) if len(each) == 4 else tuple(each)
                 for each in (old, new) if isinstance(each, (tuple, list))]  # fmt: skip
        return list(inner[1]) if len(inner) == 2 and tuple(present) == inner[0] else None
    if np.size(old) != 1 or np.size(new) != 1 or present is None or isinstance(present, dict):
        return None
    was, is_now = np.asarray(old).reshape(-1)[0], np.asarray(new).reshape(-1)[0]
    if isinstance(present, bool) or isinstance(was, np.bool_):
        same = isinstance(present, bool) and isinstance(was, np.bool_) and present == bool(was)
        return bool(is_now) if same else None
    if abs(float(present) - float(was)) > _ONE_ULP * abs(float(was)):
        return None
    # As a person would have written it: the shortest number that rounds to the same float.
    return int(is_now) if isinstance(present, int) else float(str(np.float32(is_now)))


def _refused(what: str) -> UsageError:
    return UsageError(
        "PATCH_NOT_POSSIBLE", what, fix="change it in the source, and save the model again"
    )
