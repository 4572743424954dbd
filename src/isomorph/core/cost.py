"""What a command costs: wall time and CPU time, as a whole and by phase.

A phase is measured by ``with phase("oracle"):`` wherever it runs; the time of an inner phase does
not count for the outer one. Phases that run at the same time share the time equally, so that
the phases together are the whole. A thread that waits for others (``with waiting():``) has no
share.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from isomorph.core.cpu_time import tree_seconds

OTHER = "other"
"""The phase of whatever is no phase of its own."""
START = "start"
"""The phase before the models are loaded: the interpreter, the imports, the command line."""
_WAITING = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCost:
    """The time of one phase, in seconds."""

    name: str
    wall: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The time of a command, in seconds."""

    wall: float
    cpu: float
    """Of this process and its workers."""
    phases: tuple[PhaseCost, ...] = ()
    """The one with the most CPU time first."""


class CostMeter:
    """Measures a command from its creation on, by phase."""

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = tree_seconds,
    ) -> None:
        self._now, self._cpu = now, cpu
        self._lock = threading.Lock()
        self._stacks: dict[int, list[str]] = {}
        self._spent: dict[str, tuple[float, float]] = {}
        self._last = now(), cpu()

    def enter(self, name: str) -> None:
        """A phase begins in this thread."""
        with self._lock:
            self._account()
            self._stacks.setdefault(threading.get_ident(), []).append(name)

    def leave(self) -> None:
        """The innermost phase of this thread ends."""
        with self._lock:
            self._account()
            thread = threading.get_ident()
            self._stacks[thread].pop()
            if not self._stacks[thread]:
                del self._stacks[thread]

    def cost(self) -> Cost:
        """The time by now."""
        with self._lock:
            self._account()
            spent = self._spent.items()
            phases = [PhaseCost(name=name, wall=wall, cpu=cpu) for name, (wall, cpu) in spent]
        return Cost(
            wall=sum(each.wall for each in phases),
            cpu=sum(each.cpu for each in phases),
            phases=tuple(sorted(phases, key=lambda each: (-each.cpu, -each.wall, each.name))),
        )

    def _account(self) -> None:
        """Give the time since the last change to the phases that were running."""
        now = self._now(), self._cpu()
        # A worker that ends between two readings may be missing from one of them.
        wall = now[0] - self._last[0]
        cpu = max(0.0, now[1] - self._last[1])
        innermost = (stack[-1] for stack in self._stacks.values())
        running = [name for name in innermost if name != _WAITING] or [OTHER]
        for name in running:
            before = self._spent.get(name, (0.0, 0.0))
            self._spent[name] = before[0] + wall / len(running), before[1] + cpu / len(running)
        self._last = now


_meter: ContextVar[CostMeter | None] = ContextVar("isomorph cost meter", default=None)


@contextmanager
def metered() -> Iterator[CostMeter]:
    """Measure the phases within; a command inside another one is measured by itself."""
    meter = CostMeter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure what is done within as a phase, if anything is measured."""
    meter = _meter.get()
    if meter is None:
        yield
        return
    meter.enter(name)
    try:
        yield
    finally:
        meter.leave()


@contextmanager
def waiting() -> Iterator[None]:
    """Wait for other threads, whose phases have all of the time."""
    with phase(_WAITING):
        yield


def cost_so_far() -> Cost | None:
    """The cost of the command that is being measured; None where nothing is."""
    meter = _meter.get()
    return None if meter is None else meter.cost()
