"""Reports that were written as JSON, read back as the dataclasses they were written from."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

from isomorph.core.errors import UsageError
from isomorph.core.repair import SCHEMA as REPAIR_SCHEMA
from isomorph.core.report import REVISION, SCHEMA, ModelForm, Report
from isomorph.core.untrusted_json import read_json
from isomorph.store.codec import from_document
from isomorph.store.earlier_reports import in_present_terms
from isomorph.store.format_detection import is_factory
from isomorph.store.safe_paths import head_of

_HEAD_BYTES = 1024


def read_report(path: Path) -> Report:
    """One report of this revision or an earlier one, with the fields of this one.

    What a later version added to it is left out, what it lacks is empty.
    """
    data = _document(path)
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise _unreadable(path, f"its schema is {schema!r}, and this version reads {SCHEMA!r}")
    revision = data.get("revision", 1)
    if type(revision) is not int or not 1 <= revision <= REVISION:
        why = f"its revision is {revision!r}, and this version reads revisions 1 to {REVISION}"
        raise _unreadable(path, why, fix="read it with the version of isomorph that wrote it")
    try:
        present = in_present_terms(data) if revision < REVISION else data
        report = from_document(Report, {**present, "revision": REVISION})
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise _unreadable(path, f"a field does not fit the schema: {error}") from error
    return typing.cast("Report", report)


def may_be_report(source: object) -> bool:
    """Whether a report is meant: the path of a JSON file, or of a file that does not exist."""
    if not isinstance(source, (str, Path)) or is_factory(source):
        return False
    path = Path(source)
    if not path.exists():
        return True
    return path.is_file() and head_of(path, _HEAD_BYTES, error=UsageError).lstrip()[:1] == b"{"


def reported_models(path: Path) -> tuple[Report, str, str]:
    """A report, and where its reference and its candidate are."""
    report = read_report(path)
    files = {each.role: each for each in report.models}
    sides = [files.get(role) for role in ("reference", "candidate")]
    found = [each for each in sides if each is not None and each.form == ModelForm.FILE]
    if len(found) != len(sides):
        raise UsageError(
            "BAD_OPTION",
            "the report names no two files of models",
            file=str(path),
            why="it is about one model, a trace or an object in memory",
            fix="name both models: isomorph fix REFERENCE CANDIDATE",
        )
    return report, found[0].location, found[1].location


def read_repair(path: Path) -> dict[str, Any]:
    """The JSON of ``isomorph fix --format json``, as plain data."""
    data = _document(path)
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(data, dict) or schema != REPAIR_SCHEMA:
        raise _unreadable(path, f"its schema is {schema!r}, and a repair's is {REPAIR_SCHEMA!r}")
    return data


def _document(path: Path) -> Any:  # noqa: ANN401
    try:
        return read_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError("FILE_NOT_FOUND", "there is no such report:", file=str(path)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(
    path: Path,
    why: str,
    fix: str = "write one with: isomorph check REFERENCE CANDIDATE --format json -o REPORT.json",
) -> UsageError:
    return UsageError(
        "REPORT_UNREADABLE",
        "this is not a report that can be read:",
        file=str(path),
        why=why,
        fix=fix,
    )
