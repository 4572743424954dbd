"""Writing a model: the .xml file, and the .bin with what has changed in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.untrusted_xml import written
from isomorph.frameworks.openvino.weights import beside
from isomorph.store.atomic import new_file
from isomorph.store.targets import refuse_overwriting

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import IrModel


def save(model: IrModel, path: Path) -> None:
    """Write both files, complete or not at all, never over those that they were made from."""
    source = model.path
    refuse_overwriting(path, source, *([beside(source)] if source else []))
    place = beside(path)
    refuse_overwriting(place, source, *([beside(source)] if source else []))
    text, weights = serialized(model)
    with new_file(place) as stream:
        stream.write(weights)
    with new_file(path) as stream:
        stream.write(text)


def serialized(model: IrModel) -> tuple[bytes, bytes]:
    """The bytes of both files."""
    return written(model.root), bytes(model.weights)
