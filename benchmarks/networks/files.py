"""A network as written to disk: the same function twice, and inputs for both."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from measuring.tables import RESULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """``inputs`` are written last: where they are, everything is."""

    name: str
    reference: Path
    candidate: Path
    inputs: Path
    parameters: int


def folder_of(source: Path, version: str) -> Path:
    """Kept under results/ until the file that builds the network, or its framework, changes."""
    mark = hashlib.sha256(source.read_bytes() + version.encode()).hexdigest()[:12]
    return RESULTS / "models" / mark
