"""One question to isomorph in a process of its own: a crash or a hang is an answer, no end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REFUSED = 4
INTERNAL = 70
_LONGEST = 300
"""Characters of an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answer. ``verdict`` is the report's, or crash, timeout, internal, refused, error."""

    package: str
    file: str
    route: str
    verdict: str
    seconds: float
    exit_code: int | None
    error: str = ""
    trusted: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self)


def asked(
    package: str, file: str, route: str, words: Sequence[str | Path], *, timeout: float
) -> Row:
    """The answer to ``isomorph WORDS``; a file that may run code is opened only if it has to."""
    row = _answer(package, file, route, words, timeout=timeout)
    if row.exit_code != REFUSED:
        return row
    return _answer(package, file, route, [*words, "--trust"], timeout=timeout, trusted=True)


def _answer(
    package: str,
    file: str,
    route: str,
    words: Sequence[str | Path],
    *,
    timeout: float,
    trusted: bool = False,
) -> Row:
    command = [sys.executable, "-m", "isomorph", *map(str, words), "--format", "json"]
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=timeout)
        verdict, error = _said(process.returncode, out, err)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its workers, too
        _, err = process.communicate()
        verdict, error, code = "timeout", _last(err), None
    return Row(
        package=package,
        file=file,
        route=route,
        verdict=verdict,
        seconds=round(time.monotonic() - started, 1),
        exit_code=code,
        error=error[:_LONGEST],
        trusted=trusted,
    )


def _said(code: int, out: str, err: str) -> tuple[str, str]:
    """The verdict and what went wrong, out of what a finished process wrote."""
    if code < 0:
        return "crash", f"signal {-code}; {_last(err)}"
    if code == INTERNAL:
        return "internal", _last(err)
    report = _report(out)
    if report is None:
        return ("refused" if code == REFUSED else "error"), _last(err)
    verdict = str(report.get("verdict", "error"))
    reasons = [str(each.get("why", "")) for each in report.get("skipped", ())]
    reasons = [each for each in reasons if "oracle cannot" in each or "not explained" in each]
    reason = str(report.get("reason", "")) if verdict in {"divergent", "unknown"} else ""
    return verdict, "; ".join(each for each in (reason, *reasons) if each)


def _report(out: str) -> dict[str, Any] | None:
    try:
        found = json.loads(out)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _last(err: str) -> str:
    """The error that a process ended with: its own line and the reason below it."""
    lines = [line.strip() for line in err.strip().splitlines()]
    for place, line in enumerate(lines):
        if line.startswith("error["):
            return " ".join(lines[place : place + 2])
    return lines[-1] if lines else ""
