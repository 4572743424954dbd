"""One cell in a process of its own, which ends with the sweep."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_START = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != int(sys.argv.pop(1)):
        os._exit(1)
else:
    sys.argv.pop(1)
from isomorph.__main__ import main
sys.exit(main())
"""
"""The process is asked to end when the thread ends that started it (PR_SET_PDEATHSIG), and then
ends its own workers."""

_GRACE_SECONDS = 5.0
_ANSWERS = frozenset({0, 1, 2, 3, 4, 70})
"""Exit codes of a command that came to an end by itself."""
_STDERR_SHOWN = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended. ``exit_code`` is None where it was ended from outside."""

    exit_code: int | None
    stderr: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


class CellProcess:
    """A command of isomorph that is run once; ``stop`` may be called by another thread."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._words, self._folder = words, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> Ended:
        """Start it in ``folder`` and wait for its end."""
        started = time.monotonic()
        with tempfile.TemporaryFile(dir=self._folder) as stderr:
            process = subprocess.Popen(
                [sys.executable, "-c", _START, str(os.getpid()), *self._words],
                cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=stderr, start_new_session=True,
            )  # fmt: skip
            self._process = process
            if self._stopped:
                self.stop()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            text = stderr.read().decode("utf-8", "replace")[-_STDERR_SHOWN:]
        code = process.returncode if process.returncode in _ANSWERS and not self._stopped else None
        return Ended(
            exit_code=code,
            stderr=text,
            seconds=time.monotonic() - started,
            cpu_seconds=used.ru_utime + used.ru_stime,
            peak_bytes=used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        )

    def stop(self) -> None:
        """Ask the process and its workers to end, and end them if they do not."""
        self._stopped = True
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_SECONDS
        while process.returncode is None and time.monotonic() < deadline:
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
