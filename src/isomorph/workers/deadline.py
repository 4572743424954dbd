"""A deadline that counts the time a worker had, not the time during which others had the machine.

Time counts while the worker computes, and while it waits of its own accord: a reader that sleeps
hangs, too. Time does not count while the worker is ready to run and gets no core, while it is
stopped, and while the system fetches its pages. The limit of wall time is the last resort.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from isomorph.workers.ipc import DeadlineError

WALL_FACTOR = 10.0
"""The wall time after which a worker is stopped, in multiples of the time that it may count."""

_SAMPLE_SECONDS = 0.5
_BLOCKED = frozenset("DTt")
"""States in which a process waits for the system or for whoever stopped it, not for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUse:
    """What a process had of the cores by now, in seconds summed over its threads."""

    running: float = 0.0
    waiting: float = 0.0
    """Ready to run, while something else had the core."""
    blocked: bool = False
    """Whether it is stopped, or waits for the system, at the moment."""


class LinuxCpuUse:
    """The use of the cores by all threads of a process, as Linux accounts for it."""

    def __init__(self, pid: int) -> None:
        self._folder = Path("/proc") / str(pid)
        self._running, self._waiting = 0.0, 0.0
        self._threads: dict[str, tuple[int, int]] = {}

    def __call__(self) -> CpuUse | None:
        """The use by now; None where the system does not account for it."""
        try:
            threads = dict(map(_thread_times, (self._folder / "task").iterdir()))
            state = (self._folder / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, ValueError, IndexError):
            return None
        for name, (running, waiting) in threads.items():
            # A thread that has ended keeps what it had, and a new one begins at nothing.
            before = self._threads.get(name, (0, 0))
            self._running += max(0, running - before[0]) * 1e-9
            self._waiting += max(0, waiting - before[1]) * 1e-9
        self._threads = threads
        return CpuUse(running=self._running, waiting=self._waiting, blocked=state in _BLOCKED)


def _thread_times(folder: Path) -> tuple[str, tuple[int, int]]:
    running, waiting, _ = (folder / "schedstat").read_text().split()
    return folder.name, (int(running), int(waiting))


class Deadline:
    """The time that a worker may take for one command."""

    def __init__(
        self,
        seconds: float,
        use: Callable[[], CpuUse | None],
        *,
        now: Callable[[], float] = time.monotonic,
        share: Callable[[], float] | None = None,
    ) -> None:
        self.seconds = seconds
        self._use, self._now, self._share = use, now, share or share_of_machine
        self._began = self._last = now()
        # Read at the first look: most commands end before it, and it reads files of every thread.
        self._first: CpuUse | None = None
        self._seen: CpuUse | None = None
        self._looked = False
        self._counted = 0.0

    @property
    def wall_limit(self) -> float:
        """The time of the clock at which the worker is stopped in any case."""
        return self._began + WALL_FACTOR * self.seconds

    @property
    def wall(self) -> float:
        """Seconds since the command began, by the clock."""
        return self._last - self._began

    @property
    def computed(self) -> float | None:
        """The CPU seconds that the worker had; None where the system does not tell."""
        if self._first is None or self._seen is None:
            return None
        return self._seen.running - self._first.running

    @property
    def starved(self) -> bool:
        """Whether less than the limit counts: the worker had no chance to end in time."""
        return self._counted < self.seconds

    def check(self) -> None:
        """Count the time since the last call; raise once the limit is reached."""
        now = self._now()
        if not self._looked:
            self.sample()
        # A sample reads a few files for every thread; toward the limit each call takes one.
        near = self._counted + (now - self._last) >= self.seconds
        if now - self._last < _SAMPLE_SECONDS and not near:
            return
        self.sample()
        if not self.starved or now >= self.wall_limit:
            raise DeadlineError

    def sample(self) -> None:
        """Count the time since the last sample."""
        now, use = self._now(), self._use()
        wall = now - self._last
        if not self._looked:
            self._first, self._looked = use, True
            self._counted += wall
        elif use is None or self._seen is None:
            self._counted += wall * self._share()
        else:
            self._counted += _counted(wall, self._seen, use)
        self._last, self._seen = now, use


def _counted(wall: float, before: CpuUse, after: CpuUse) -> float:
    """The part of a stretch of wall time that counts."""
    running, waiting = after.running - before.running, after.waiting - before.waiting
    wanted = running + waiting
    # Several threads want more than the clock has; their common share is what they got of it.
    active = min(wall, wanted)
    got = active * running / wanted if wanted > 0.0 else 0.0
    idle = 0.0 if after.blocked else wall - active
    return got + idle


def share_of_machine() -> float:
    """The share of a core that each running process has, by the load of the machine."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / load) if load > 0.0 else 1.0
