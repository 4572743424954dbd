"""One question to isomorph in a process of its own: a crash or a hang is an answer, no end."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "isomorph")
WRONG_USE = 2
REFUSED = 4
INTERNAL = 70
_LONGEST = 300
"""Characters of a reason."""
_SAMPLE_SECONDS = 1.0
_WALL_SECONDS = 5
"""Seconds of a clock for each CPU second, after which what waits for nothing is ended."""
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of isomorph about one file. ``route`` says it in a few words."""

    package: str
    version: str
    file: str
    route: str
    size: int
    words: tuple[str | Path, ...] = ()
    """The command without its name."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes two questions the same one."""
        return self.package, self.version, self.file, self.route


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answer. ``verdict`` is the report's, or failed, refused, timeout, crash, internal, error.

    A conversion ``failed`` where the converter gave no model, so that there is nothing to judge.
    ``cpu_seconds`` counts the process and all below it; it had to be ended at a ``timeout``.
    ``peak_mb`` is the most memory that they held together. ``converters`` are the steps of the
    route that was taken.
    """

    package: str
    version: str
    file: str
    route: str
    size: int
    verdict: str
    seconds: float = 0.0
    cpu_seconds: float | None = None
    peak_mb: int | None = None
    exit_code: int | None = None
    error: str = ""
    converters: tuple[str, ...] = ()
    trusted: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {**asdict(self), "converters": list(self.converters)}

    @property
    def key(self) -> tuple[str, str, str, str]:
        """That of its question."""
        return self.package, self.version, self.file, self.route

    @property
    def readable(self) -> bool:
        """Whether the file could be opened, so that it may be converted."""
        return self.exit_code in {0, 1, 3} or self.verdict == "timeout"


def row_of(document: dict[str, Any]) -> Row:
    """The row that was kept."""
    return Row(**{**document, "converters": tuple(document["converters"])})


def unanswered(question: Question, why: str, *, verdict: str = "refused") -> Row:
    """A row about what could not be asked."""
    package, version, file, route = question.key
    return Row(
        package=package, version=version, file=file, route=route, size=question.size,
        verdict=verdict, error=why,
    )  # fmt: skip


def asked(question: Question, *, limit: float, report: Path | None = None) -> Row:
    """The answer; a file that may run code is opened only if it has to.

    It is ended after ``limit`` CPU seconds, which a busy machine does not shorten.
    ``report`` is where the JSON that isomorph printed is kept.
    """
    row = _answer(question, question.words, limit=limit, report=report)
    if row.exit_code != REFUSED:
        return row
    words = [*question.words, "--trust"]
    return _answer(question, words, limit=limit, report=report, trusted=True)


def _answer(
    question: Question,
    words: Sequence[str | Path],
    *,
    limit: float,
    report: Path | None,
    trusted: bool = False,
) -> Row:
    from benchmarks.measuring.processes import MemoryWatch

    command = [*COMMAND, *map(str, words), "--format", "json"]
    used, started = _children_seconds(), time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    ended = threading.Event()

    def end_at_limit(watch: MemoryWatch) -> None:
        if watch.cpu_seconds > limit or time.monotonic() - started > _WALL_SECONDS * limit:
            ended.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its workers, too

    watch = MemoryWatch(process.pid, every_seconds=_SAMPLE_SECONDS, on_sample=end_at_limit)
    out, err = process.communicate()
    peak = watch.stop()
    if ended.is_set():
        verdict, error, converters = "timeout", shortened(f"at {_last(err)}"), ()
        code, cpu = None, watch.cpu_seconds
    else:
        verdict, error, converters = process_outcome(process.returncode, out, err)
        code, cpu = process.returncode, _children_seconds() - used
    if report is not None and out:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(out, encoding="utf-8")
    package, version, file, route = question.key
    return Row(
        package=package, version=version, file=file, route=route, size=question.size,
        verdict=verdict, seconds=round(time.monotonic() - started, 1), cpu_seconds=round(cpu, 1),
        peak_mb=round(peak / _MEBIBYTE), exit_code=code, error=error,
        converters=converters, trusted=trusted,
    )  # fmt: skip


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process_outcome(code: int, out: str, err: str) -> tuple[str, str, tuple[str, ...]]:
    """The verdict, what went wrong, and the steps of a conversion, from a finished process."""
    if code < 0:
        return "crash", shortened(f"signal {-code}; {_last(err)}"), ()
    if code == INTERNAL:
        return "internal", shortened(_last(err)), ()
    report = _report(out)
    if report is None:
        refused = code in {WRONG_USE, REFUSED}
        return ("refused" if refused else "error"), shortened(_last(err)), ()
    verdict = str(report.get("verdict", "error"))
    steps = [hop for hop in report.get("chosen", ()) if isinstance(hop, dict)]
    converters = tuple(str(hop["step"]["converter"]) for hop in steps)
    failed = verdict == "unknown" and steps and steps[-1].get("status") == "failed"
    return ("failed" if failed else verdict), shortened(_reason(report, steps)), converters


def _reason(report: dict[str, Any], steps: Sequence[dict[str, Any]]) -> str:
    """Why a verdict is not a good one; nothing where it is."""
    if report.get("verdict") not in {"divergent", "unknown"}:
        return ""
    trouble = steps[-1].get("trouble") if steps else None
    if trouble:
        return f"{steps[-1]['step']['converter']}: {trouble.get('why') or trouble['sentence']}"
    return str(report.get("reason", ""))


def _report(out: str) -> dict[str, Any] | None:
    try:
        found = json.loads(out)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _last(err: str) -> str:
    """The error that a process ended with: its own line, the file and the reason below it."""
    lines = [line.strip() for line in err.strip().splitlines()]
    for place, line in enumerate(lines):
        if line.startswith("error["):
            kept = itertools.takewhile(lambda each: not each.startswith("fix:"), lines[place:])
            return " ".join(itertools.islice(kept, 3))
    return lines[-1] if lines else ""


def shortened(text: str) -> str:
    """One line without addresses in memory and folders of this machine."""
    text = re.sub(r" at 0x[0-9a-f]+", "", " ".join(text.split()))
    text = re.sub(r"(?:/[\w.-]+)+/", "…/", text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"
