"""Writing a model: the .xml file, and the .bin with what has changed in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.untrusted_xml import written
from isomorph.frameworks.openvino.weights import beside
from isomorph.store.model_bytes import write_copy
from isomorph.store.targets import refuse_overwriting

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import IrModel


def save(model: IrModel, path: Path) -> None:
    """Write both files, complete or not at all, never over those that they were made from."""
    sources = (model.path, beside(model.path)) if model.path else ()
    refuse_overwriting(path, *sources)
    text, weights = serialized(model)
    write_copy(weights, beside(path), *sources)
    write_copy(text, path, *sources)


def serialized(model: IrModel) -> tuple[bytes, bytes]:
    """The bytes of both files."""
    return written(model.root), bytes(model.weights)
