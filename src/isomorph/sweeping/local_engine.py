"""Cells in processes on this machine, as many at a time as there are jobs and memory for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.sweeping.cell_process import CellProcess

if TYPE_CHECKING:
    from isomorph.sweeping.cell_process import Ended
    from isomorph.sweeping.task import Task


@dataclass(slots=True, kw_only=True)
class LocalEngine:
    """Runs tasks; ``run`` yields each as it ends. No two run that do not fit into memory."""

    jobs: int
    memory_bytes: int
    start: Callable[[Task], CellProcess] = lambda task: CellProcess(task.words, task.folder)
    _running: dict[str, tuple[Task, CellProcess]] = field(default_factory=dict)
    _ended: queue.Queue[tuple[str, Ended | Exception]] = field(default_factory=queue.Queue)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ended]]:
        """Each task with how it ended, as they end; those that need most begin first.

        Where this is closed early, every process is ended.
        """
        waiting = sorted(tasks, key=lambda each: -each.need_bytes)
        try:
            while waiting or self._running:
                while (task := self._next(waiting)) is not None:
                    waiting.remove(task)
                    self._begin(task)
                # A limit of time lets an interruption through on every platform.
                try:
                    key, ended = self._ended.get(timeout=1.0)
                except queue.Empty:
                    continue
                task, _ = self._running.pop(key)
                if isinstance(ended, Exception):
                    raise ended
                yield task, ended
        finally:
            self.stop()

    @property
    def running(self) -> int:
        """How many tasks have begun and not ended."""
        return len(self._running)

    def stop(self) -> None:
        """End what runs, all at a time."""
        threads = [threading.Thread(target=each.stop) for _, each in self._running.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._running.clear()

    def _next(self, waiting: Sequence[Task]) -> Task | None:
        if not waiting or len(self._running) >= self.jobs:
            return None
        taken = sum(task.need_bytes for task, _ in self._running.values())
        fits = (each for each in waiting if taken + each.need_bytes <= self.memory_bytes)
        # What does not fit at all is run alone: its workers have limits of their own.
        return next(fits, None if self._running else waiting[0])

    def _begin(self, task: Task) -> None:
        process = self.start(task)
        self._running[task.key] = task, process

        def wait() -> None:
            try:
                self._ended.put((task.key, process.run()))
            except Exception as error:  # noqa: BLE001 - raised again by whoever waits
                self._ended.put((task.key, error))

        threading.Thread(target=wait, name=f"cell {task.key[:8]}", daemon=True).start()
