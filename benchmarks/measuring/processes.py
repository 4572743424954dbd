"""Other processes: how long they took, and the most memory that they and their children held.

Memory is the sum of what each process holds for itself and its part of what several of them hold
together (PSS), so that a library which four processes have mapped is counted once. Where the system
does not tell, it is the resident memory, which counts it four times. Pages of mapped files are part
of it, which the system takes back when it needs them; what is left without them is counted apart.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import psutil

# Looking for children costs a walk over every process of the machine.
_EVERY_SECONDS = 0.05


class StepFailedError(RuntimeError):
    """A child process ended or reported an error; the message is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One finished command."""

    returncode: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    own_peak_bytes: int
    """Without the pages of mapped files."""
    text: str

    @property
    def tail(self) -> str:
        """The last lines that it printed."""
        return "\n".join(self.text.strip().splitlines()[-5:])


class MemoryWatch:
    """Samples the memory of a process and all below it; ``peak`` is the largest sum.

    ``own_peak`` is the largest sum without the pages of mapped files. ``cpu_seconds`` is what they
    had used at the last sample; ``on_sample`` is called after each.
    """

    def __init__(
        self,
        pid: int,
        *,
        every_seconds: float = _EVERY_SECONDS,
        on_sample: Callable[[MemoryWatch], None] | None = None,
    ) -> None:
        self.peak = self.own_peak = 0
        self.cpu_seconds = 0.0
        self._on_sample = on_sample
        self._every_seconds = every_seconds
        self._root = psutil.Process(pid)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """The peak so far; no more samples."""
        self._done.set()
        self._thread.join()
        return self.peak

    def _sample(self) -> None:
        while not self._done.wait(self._every_seconds):
            held, own = _held(self._root)
            self.peak, self.own_peak = max(self.peak, held), max(self.own_peak, own)
            if self._on_sample is not None:
                self.cpu_seconds = max(self.cpu_seconds, _used(self._root))
                self._on_sample(self)


def run(command: Sequence[str], *, folder: Path) -> Ran:
    """Run a command to its end."""
    before, started = _children_seconds(), time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    watch = MemoryWatch(process.pid)
    text, _ = process.communicate()
    seconds = time.perf_counter() - started
    return Ran(
        returncode=process.returncode,
        seconds=seconds,
        cpu_seconds=_children_seconds() - before,
        peak_bytes=watch.stop(),
        own_peak_bytes=watch.own_peak,
        text=text,
    )


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Stepper:
    """A child that has made one thing ready and does it once for each ``step``.

    Preparing is outside the measured time; each step is timed by the child itself.
    """

    def __init__(self, script: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            # As in a worker, where work is cut into threads above BLAS.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._watch = MemoryWatch(self._process.pid)
        try:
            self._reply()
        except StepFailedError:
            self.close()
            raise

    def step(self) -> float:
        """Seconds."""
        to_child = _pipe(self._process.stdin)
        to_child.write("step\n")
        to_child.flush()
        return float(self._reply()["seconds"])

    @property
    def peak_bytes(self) -> int:
        """The most memory held so far, while preparing too."""
        return self._watch.peak

    def __enter__(self) -> Stepper:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the child end, and wait for it."""
        self._watch.stop()
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        self._process.wait()
        _pipe(self._process.stdout).close()

    def _reply(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout).readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "it ended without a word"}
        if "error" in answer:
            raise StepFailedError(answer["error"])
        return answer


def _held(root: psutil.Process) -> tuple[int, int]:
    """Bytes of a process and all below it, with and without the pages of mapped files."""
    total = own = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                kinds = _proportional(process.pid)
                total += kinds.get("Pss") or process.memory_info().rss
                own += kinds.get("Pss", 0) - kinds.get("Pss_File", 0) or process.memory_info().rss
    return total, own


def _used(root: psutil.Process) -> float:
    """CPU seconds of a process, of those that it has waited for, and of all below it."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def _proportional(pid: int) -> dict[str, int]:
    """Bytes by kind, as the system names them; nothing where it does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, PermissionError):
        return {}
    kinds = (line.split() for line in lines if line.startswith("Pss"))
    return {name.rstrip(":"): int(size) << 10 for name, size, _ in kinds}


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise StepFailedError("the child has no pipe")
    return stream
