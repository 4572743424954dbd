"""Records on disk: a trace folder, with what else was recorded in folders beside its shards.

``record.json`` holds the description of the model and the digest of every part, so that its own
digest stands for all. A folder that holds only a trace is still a file of recorded outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.model import Constant, Graph, Model, Node, TensorSpec
from isomorph.core.recording import OracleRecord, Record
from isomorph.core.trace import Trace
from isomorph.store.atomic import new_folder
from isomorph.store.codec import decode, encode
from isomorph.store.trace_index import damaged, read_index, write_index
from isomorph.store.traces import is_trace, read, save

if TYPE_CHECKING:
    from isomorph.core.trace import Arrays

SCHEMA = "isomorph.record/1"
INDEX = "record.json"
_MANIFEST = "manifest.json"


def is_record(path: Path) -> bool:
    """Whether a folder was written by ``isomorph trace``."""
    return (path / INDEX).is_file() and is_trace(path)


def save_record(record: Record, folder: Path) -> None:
    """Write a record; the folder appears when it is complete."""
    with new_folder(folder) as aside:
        # The trace wants a folder of its own to appear in, so it is made first and then joined.
        save(record.run, aside / "run")
        for each in sorted((aside / "run").iterdir()):
            each.replace(aside / each.name)
        (aside / "run").rmdir()
        environment = record.run.environment
        parts: dict[str, Arrays] = {
            "inputs": record.inputs, "untouched": record.untouched, "written": record.written,
        }  # fmt: skip
        if record.oracle is not None:
            parts["oracle"] = record.oracle.tensors
            parts |= {f"draws-{key}": values for key, values in record.oracle.draws.items()}
        for name, tensors in parts.items():
            used = environment
            if record.oracle is not None and name not in {"inputs", "untouched", "written"}:
                used = record.oracle.environment
            save(Trace(environment=used, tensors=tensors), aside / _folder(name))
        body = {
            "model": encode(replace(record.model, native=None)),
            "seed": record.seed,
            "notes": list(record.notes),
            "version": record.version,
            "spread": None if record.oracle is None else encode(dict(record.oracle.spread)),
            "parts": {name: _digest(aside / _folder(name)) for name in parts},
            "run": _digest(aside),
        }
        write_index(aside / INDEX, SCHEMA, body)


def read_record(folder: Path) -> Record:
    """A saved record; tensors are read, and checked by their digests, on first use."""
    body, digest = read_index(folder / INDEX, SCHEMA)
    try:
        parts = {name: _part(folder, name, part) for name, part in body["parts"].items()}
        if _digest(folder) != body["run"]:
            raise damaged(folder, "the trace is not the one that was recorded")
        return Record(
            model=_described(decode(Model, body["model"]), parts["inputs"].tensors),
            seed=int(body["seed"]),
            inputs=parts["inputs"].tensors,
            run=read(folder),
            untouched=parts["untouched"].tensors,
            written=parts["written"].tensors,
            oracle=_oracle_record(body, parts),
            notes=tuple(str(note) for note in body["notes"]),
            location=str(folder),
            digest=f"sha256:{digest}",
            version=str(body["version"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(folder, f"{INDEX} is incomplete: {error}") from error


def _described(model: Any, inputs: Arrays) -> Model:  # noqa: ANN401
    """The description, provided that it is one: an index may come from anywhere."""
    if not isinstance(model, Model) or not isinstance(model.graph, Graph):
        raise TypeError("the model is not described")
    for node in model.graph.nodes:
        words = (node.name, node.op, *node.inputs, *node.outputs)
        if not isinstance(node, Node) or not all(isinstance(word, str) for word in words):
            raise TypeError("a node is not described")
    for spec in (*model.graph.inputs, *model.graph.outputs, *model.graph.tensors.values()):
        if not isinstance(spec, TensorSpec) or not isinstance(spec.name, str):
            raise TypeError("a tensor is not described")
    for name, constant in model.graph.constants.items():
        if not isinstance(name, str) or not isinstance(constant, Constant):
            raise TypeError("a constant is not described")
    for spec in model.graph.inputs:
        if spec.name not in inputs:
            raise KeyError(f"input {spec.name!r}")
    return model


def _oracle_record(body: Mapping[str, Any], parts: Mapping[str, Trace]) -> OracleRecord | None:
    if "oracle" not in parts:
        return None
    prefix = "draws-"
    return OracleRecord(
        environment=parts["oracle"].environment,
        tensors=parts["oracle"].tensors,
        spread=decode(Mapping[str, Mapping[str, tuple[float, float]]], body["spread"]),
        draws={
            name.removeprefix(prefix): part.tensors
            for name, part in parts.items()
            if name.startswith(prefix)
        },
    )


def _part(folder: Path, name: str, digest: str) -> Trace:
    part = folder / _folder(name)
    if _digest(part) != digest:
        raise damaged(folder, f"part {name!r} is not the one that was recorded")
    return read(part)


def _folder(name: str) -> str:
    # An index may come from anywhere, and must not lead out of its folder.
    flat = name.replace("/", "-")
    if flat in {"", ".", ".."} or Path(flat).name != flat:
        raise ValueError(f"{name!r} is no name of a part")
    return flat


def _digest(folder: Path) -> str:
    """A trace's manifest holds the digest of every tensor, so its own digest stands for all."""
    try:
        with (folder / _MANIFEST).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise damaged(folder, f"{_MANIFEST}: {error.strerror}") from error
