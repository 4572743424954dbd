"""Traces on disk: recorded here, compared elsewhere.

A folder holds ``manifest.json`` and safetensors shards. Names of tensors are data: they stand
inside the manifest and the shards, and files are named by the digest of what they hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.trace import Environment, Trace, flatten
from isomorph.store import safetensors
from isomorph.store.atomic import new_folder
from isomorph.store.codec import from_document
from isomorph.store.dtypes import STRING, bytes_of, dtype_name, dtype_of, strings, words_of
from isomorph.store.trace_index import damaged, read_index, write_index

if TYPE_CHECKING:
    from isomorph.core.trace import Array

SCHEMA = "isomorph.trace/1"
MANIFEST = "manifest.json"
SHARD_BYTES = 256 << 20
"""A shard is closed when it has grown to this size, so that a trace may exceed memory."""


def is_trace(folder: Path) -> bool:
    """Whether a folder looks like a saved trace."""
    try:
        with (folder / MANIFEST).open("rb") as file:
            return SCHEMA.encode() in file.read(4096)
    except OSError:
        return False


def save(trace: Trace, folder: Path) -> None:
    """Write a trace; the folder appears when it is complete."""
    with new_folder(folder) as aside:
        body = {
            "environment": asdict(trace.environment),
            "tensors": list(_save_tensors(trace.tensors, aside)),
        }
        write_index(aside / MANIFEST, SCHEMA, body, indent=1)


def _save_tensors(tensors: Mapping[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    shard: list[tuple[dict[str, Any], Array]] = []
    for name, value in tensors.items():
        for path, item in flatten(name, value).items():
            if item is None:
                yield {"name": path, "dtype": None}
                continue
            array = np.asarray(item)
            entry = _describe(path, array)
            if entry["dtype"] == STRING:
                yield entry | {"words": words_of(array)}
                continue
            shard.append((entry, array))
            if sum(array.nbytes for _, array in shard) >= SHARD_BYTES:
                yield from _save_shard(shard, folder)
                shard = []
    yield from _save_shard(shard, folder)


def _describe(name: str, array: Array) -> dict[str, Any]:
    dtype, shape = dtype_name(array.dtype), [int(size) for size in array.shape]
    return {"name": name, "dtype": dtype, "shape": shape, "digest": digest_of(array)}


def digest_of(array: Array) -> str:
    """Equal for equal dtype, shape and elements."""
    dtype = dtype_name(array.dtype)
    digest = hashlib.sha256(f"{dtype}{list(array.shape)}".encode())
    if dtype == STRING:
        digest.update(json.dumps(words_of(array)).encode("ascii"))
    else:
        digest.update(bytes_of(array))
    return digest.hexdigest()


def _save_shard(
    shard: list[tuple[dict[str, Any], Array]], folder: Path
) -> Iterator[dict[str, Any]]:
    if not shard:
        return
    digests = "".join(entry["digest"] for entry, _ in shard)
    names = "\0".join(entry["name"] for entry, _ in shard)
    identity = hashlib.sha256((digests + names).encode("utf-8", "surrogatepass"))
    file = f"{identity.hexdigest()[:32]}.safetensors"
    with (folder / file).open("xb") as target:
        safetensors.write(target, {_key(entry): _storable(array) for entry, array in shard})
    for entry, _ in shard:
        yield entry | {"shard": file, "key": _key(entry)}


def _key(entry: Mapping[str, Any]) -> str:
    # The one name that the format keeps for itself.
    reserved = entry["name"] == safetensors.METADATA
    return str(entry["digest"] if reserved else entry["name"])


def _storable(array: Array) -> Array:
    # Types that the format has no name for (int4, complex128 …) are kept as their bytes.
    if dtype_name(array.dtype) in safetensors.CODES:
        return array
    return np.frombuffer(bytes_of(array), np.uint8)


def read(folder: Path) -> Trace:
    """A saved trace; each tensor is mapped, and checked by its digest, on first use."""
    manifest, _ = read_index(folder / MANIFEST, SCHEMA)
    try:
        environment = from_document(Environment, manifest["environment"])
        entries = {entry["name"]: entry for entry in manifest["tensors"]}
        for shard in sorted({entry["shard"] for entry in entries.values() if "shard" in entry}):
            _header_of(folder, shard)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(folder, f"the manifest is incomplete: {error}") from error
    return Trace(environment=environment, tensors=SavedTensors(folder, entries))


class SavedTensors(Mapping[str, Any]):
    """The tensors of a saved trace, read when they are asked for."""

    def __init__(self, folder: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
        self._folder, self._entries = folder, entries
        self._shards: dict[str, dict[str, Array]] = {}
        self._verified: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        entry = self._entries[name]
        try:
            if entry["dtype"] is None:
                return None
            array = self._array(entry)
            intact = name in self._verified or digest_of(array) == entry["digest"]
        except (KeyError, ValueError, TypeError) as error:
            raise damaged(self._folder, str(error), tensor=name) from error
        if not intact:
            raise damaged(self._folder, "its bytes do not match its digest", tensor=name)
        self._verified.add(name)
        return array

    def _array(self, entry: Mapping[str, Any]) -> Array:
        shape = tuple(entry["shape"])
        if entry["dtype"] == STRING:
            return strings(list(entry["words"]), shape)
        if entry["shard"] not in self._shards:
            self._shards[entry["shard"]] = _open_shard(self._folder, entry["shard"])
        stored = self._shards[entry["shard"]][entry["key"]]
        return stored.view(dtype_of(entry["dtype"])).reshape(shape)


def _header_of(folder: Path, shard: str) -> dict[str, safetensors.Entry]:
    try:
        return safetensors.read_header(_shard_path(folder, shard))
    except (OSError, safetensors.FormatError) as error:
        raise damaged(folder, f"shard {shard}: {error}") from error


def _open_shard(folder: Path, shard: str) -> dict[str, Array]:
    try:
        return safetensors.read(_shard_path(folder, shard))
    except (OSError, safetensors.FormatError) as error:
        raise damaged(folder, f"shard {shard}: {error}") from error


def _shard_path(folder: Path, shard: str) -> Path:
    # A manifest may come from anywhere, and must not lead out of its folder.
    if Path(shard).name != shard or not shard.endswith(".safetensors"):
        raise damaged(folder, f"{shard!r} is no name of a shard")
    return folder / shard
