"""Which files belong to a model besides its own."""

from __future__ import annotations

from pathlib import Path

from isomorph.frameworks.onnx.external_data import is_external, locate
from isomorph.frameworks.onnx.model import stored_tensors
from isomorph.frameworks.onnx.read import parse


def companions(path: Path) -> tuple[Path, ...]:
    """The files with its weights, each once; they lie in its folder or below."""
    proto = parse(memoryview(path.read_bytes()), file=str(path))
    home = path.parent
    found = (
        locate(tensor, home, file=str(path), trusted=True).path
        for _, tensor in stored_tensors(proto)
        if is_external(tensor)
    )
    resolved = home.resolve()
    return tuple(home / place.relative_to(resolved) for place in dict.fromkeys(found))
