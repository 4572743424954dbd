"""Files that a report names: their digests, and where they are now."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.request import FileRole, RequestedFile

if TYPE_CHECKING:
    from isomorph.core.request import CheckRequest


def requested_file(role: FileRole, path: str | Path) -> RequestedFile:
    """A file as it is named, with the digest of its content."""
    return RequestedFile(role=role, location=str(path), digest=file_digest(Path(path)))


def working_directory() -> str:
    """The directory in which relative locations start; empty where it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def file_digest(path: Path) -> str:
    """``sha256:…`` of a file; empty for a folder."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def located(location: str, request: CheckRequest, report: Path) -> str:
    """Where a file of a report is: seen from the directory of the check, or beside the report.

    Files that moved together with the report lie beside it as they lay beside the directory of
    the check, however they were named. A word that names no file, as ``package.module:factory``,
    stays as it is.
    """
    places = [Path(folder) / location for folder in (request.directory, report.parent, "")]
    if request.directory and Path(location).is_absolute():
        places.append(report.parent / os.path.relpath(location, request.directory))
    return next((str(path) for path in places if path.exists()), location)
