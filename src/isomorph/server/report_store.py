"""Reports in a file or folder, identified to the browser by random ids."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isomorph.core.error_of import error_of
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.reporters.html import page_data
from isomorph.reporters.json import as_json
from isomorph.store.reports import read_report

MOST_REPORTS = 1000
_HEAVY = ("histogram", "heat_map", "worst")
"""Fields of a tensor that are sent only on request."""


@dataclass(frozen=True, slots=True)
class _Read:
    """One file as it was last read; ``summary`` is None if it is not a report."""

    stamp: tuple[int, int]
    summary: Mapping[str, Any] | None


@dataclass(slots=True)
class ReportStore:
    """The reports that ``isomorph view`` shows.

    The browser never sees a path: it gets random ids, and requests reports by them. A folder is
    read again for each listing.
    """

    root: Path
    _ids: dict[Path, str] = field(default_factory=dict)
    _read: dict[Path, _Read] = field(default_factory=dict)
    _tensors: dict[str, tuple[Path, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.root.exists():
            raise error_of(UsageError, "FILE_NOT_FOUND.reports", file=str(self.root))
        if self.root.is_file():
            read_report(self.root)  # an unreadable report fails here, not in the browser

    def listed(self) -> list[Mapping[str, Any]]:
        """A summary of every report, the newest first; other JSON files are left out."""
        found = []
        for path in self._paths():
            summary = self._summary(path)
            if summary is not None:
                found.append({"id": self._id(path), **summary})
        return sorted(found, key=lambda one: one["modified"], reverse=True)

    def report(self, id_: str) -> dict[str, Any] | None:
        """One report without the heavy fields of its tensors."""
        path = self._path(id_)
        document = None if path is None else _document(path)
        if path is None or document is None:
            return None
        for place, tensor in enumerate((document["profile"] or {}).get("close_ups", ())):
            for key in _HEAVY:
                tensor.pop(key, None)
            tensor["id"] = self._tensor_id(path, place)
        return document

    def tensor(self, id_: str) -> dict[str, Any] | None:
        """One tensor with all its fields."""
        found = self._tensors.get(id_)
        document = None if found is None else _document(found[0])
        if found is None or document is None or document["profile"] is None:
            return None
        tensors = document["profile"]["close_ups"]
        return tensors[found[1]] if found[1] < len(tensors) else None

    def _paths(self) -> list[Path]:
        if self.root.is_file():
            return [self.root]
        # A link may lead out of the folder that was named.
        found = sorted(path for path in self.root.rglob("*.json") if not path.is_symlink())
        return [path for path in found if path.is_file()][:MOST_REPORTS]

    def _summary(self, path: Path) -> Mapping[str, Any] | None:
        status = path.stat()
        stamp = status.st_mtime_ns, status.st_size
        known = self._read.get(path)
        if known is None or known.stamp != stamp:
            document = _document(path)
            summary = None if document is None else _summarized(document, self._name(path))
            known = _Read(stamp, summary)
            self._read[path] = known
        return None if known.summary is None else {**known.summary, "modified": status.st_mtime}

    def _name(self, path: Path) -> str:
        return path.name if self.root.is_file() else path.relative_to(self.root).as_posix()

    def _id(self, path: Path) -> str:
        return self._ids.setdefault(path, secrets.token_urlsafe(12))

    def _path(self, id_: str) -> Path | None:
        return next((path for path, known in self._ids.items() if known == id_), None)

    def _tensor_id(self, path: Path, place: int) -> str:
        for id_, known in self._tensors.items():
            if known == (path, place):
                return id_
        id_ = secrets.token_urlsafe(12)
        self._tensors[id_] = path, place
        return id_


def _document(path: Path) -> dict[str, Any] | None:
    """The report in the current schema; None if the file is gone or is not a report."""
    try:
        document: dict[str, Any] = json.loads(as_json(page_data(read_report(path)), compact=True))
    except IsomorphError:
        return None
    return document


def _summarized(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    models = {model["role"]: model["location"] for model in document["models"]}
    first = next((one for one in document["findings"] if one["node"]), None)
    return {
        "name": name,
        "verdict": document["verdict"],
        "reason": document["reason"],
        "reference": models.get("reference"),
        "candidate": models.get("candidate"),
        "findings": len(document["findings"]),
        "node": None if first is None else first["node"],
        "cause": None if first is None else first["cause"],
        "causes": sorted({one["cause"] for one in document["findings"] if one["cause"]}),
        "ratio": _worst_ratio(document),
    }


def _worst_ratio(document: Mapping[str, Any]) -> float | str | None:
    """The largest error by its budget, of the graphs or of the candidate's run, as JSON spells it.

    None where no error was judged.
    """
    parts = [
        part
        for output in document["outputs"]
        for part in (
            output["intended_loss"] or output["rounding"] or output["translation"],
            output["execution_candidate"],
        )
        if part is not None
    ]
    known = [ratio for part in parts if (ratio := part["budget"]["ratio"]) not in {None, "nan"}]
    worst: float | str | None = max(known, key=float, default=None)
    return worst
