"""Digests by which a model is recognized again: of its files, or of its described graph."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Graph


def digest_of_files(path: Path) -> str:
    """Of a file's bytes; of a folder's files with their names, in order."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    whole = hashlib.sha256()
    for each in sorted(item for item in path.rglob("*") if item.is_file()):
        whole.update(f"{each.relative_to(path).as_posix()}\0{digest_of_files(each)}\n".encode())
    return whole.hexdigest()


def digest_of_graph(graph: Graph) -> str:
    """Of a live model: its operators, their attributes and its weights."""
    digest = hashlib.sha256()
    for node in graph.nodes:
        digest.update(repr((node.name, node.native_op, node.inputs, node.outputs)).encode())
        digest.update(repr(sorted(node.attributes.items())).encode())
    for name, constant in sorted(graph.constants.items()):
        digest.update(f"{name}{constant.digest}".encode())
    return digest.hexdigest()
