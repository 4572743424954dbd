"""Saves the report of a check whose proof contradicts what was measured, and says so."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.error_of import error_of
from isomorph.core.errors import BUG, IsomorphError, listed

if TYPE_CHECKING:
    from isomorph.core.report import Report


class ContradictionError(IsomorphError):
    """A proof and a measurement that exclude each other."""

    exit_code = BUG


def save_contradiction(report: Report) -> Path | None:
    """Write the report for whoever looks for the defect; None where there is no contradiction.

    The report holds everything that repeats it: the models with their digests, the inputs, the
    seeds of the check and of the proof. It goes to the working directory, or to the directory of
    temporary files where nothing can be written there.
    """
    proof = report.proof
    if proof is None or not proof.contradicted:
        return None
    path = _written(report, f"isomorph-contradiction-{proof.seed}.json")
    error = error_of(
        ContradictionError,
        "PROOF_CONTRADICTED.outputs",
        outputs=listed(proof.contradicted),
        path=path,
    )
    sys.stderr.write("\n".join(error.lines) + "\n")
    return path


def _written(report: Report, name: str) -> Path:
    from isomorph.reporters.json import as_json

    data = as_json(report).encode("utf-8", "surrogatepass")
    try:
        return _saved(Path.cwd() / name, data)
    except (OSError, IsomorphError):
        return _saved(Path(tempfile.gettempdir()) / name, data)


def _saved(path: Path, data: bytes) -> Path:
    from isomorph.store.atomic import new_file

    with new_file(path) as stream:
        stream.write(data)
    return path
