"""Cells as tasks of a Ray cluster, a bounded number of them at a time."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from isomorph.core.errors import UsageError
from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.ray_cluster import Lost, Needs
from isomorph.sweeping.remote_cell import Order, RemoteAnswer, refused
from isomorph.sweeping.remote_files import PART_BYTES

if TYPE_CHECKING:
    from isomorph.core.sweep import Cell
    from isomorph.sweeping.ray_cluster import NodeSize
    from isomorph.sweeping.task import CellFile, Task

CELL_CPUS = 2.0
"""Both sides of a check run at a time."""
_LEAST_SUBMITTED = 8
_QUEUED = 2
"""Tasks submitted for each that the cluster has room for, so that no node waits for the next."""
_LOOK_SECONDS = 1.0
_SIZE_SECONDS = 5.0
"""How often the size of the cluster is asked for; nodes come and go."""
_CANCEL_SECONDS = 20.0
"""What a cell may take to end its workers and to remove its files."""


class Cluster(Protocol):
    """What the engine asks of ``RayCluster``."""

    def nodes(self) -> Sequence[NodeSize]: ...  # noqa: D102 - see RayCluster
    def put(self, data: bytes) -> Any: ...  # noqa: D102, ANN401
    def submit(self, order: Order, needs: Needs) -> Any: ...  # noqa: D102, ANN401
    def ended(self, running: Sequence[Any], seconds: float) -> Sequence[Any]: ...  # noqa: D102
    def answer(self, ended: Any) -> RemoteAnswer: ...  # noqa: D102, ANN401
    def cancel(self, running: Sequence[Any], seconds: float) -> None: ...  # noqa: D102


@dataclass(slots=True, kw_only=True)
class RayEngine:
    """Runs tasks on a cluster; ``run`` yields each as it ends.

    ``jobs`` is how many are submitted at a time; None is twice what the cluster has room for. A
    machine that lacks a file, or has another one at its path, gets it through the object store.
    """

    cluster: Cluster
    versions: Mapping[str, str]
    jobs: int | None = None
    _nodes: Sequence[NodeSize] = ()
    _asked: float = -_SIZE_SECONDS
    _running: dict[Any, Task] = field(default_factory=dict)
    _parts: dict[str, Sequence[Any]] = field(default_factory=dict)
    _sends: bool = False
    """Whether a node lacked a file: from then on every task says where its files can be had."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ended]]:
        """Each task with how it ended, as they end; those that need most begin first.

        Where this is closed early, every task is canceled.
        """
        waiting = sorted(tasks, key=lambda each: each.need_bytes)
        unread = Counter(digest for task in tasks for digest in _digests(task))
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._most():
                    task = waiting.pop()
                    ended = self._begin(task)
                    if ended is not None:
                        yield task, ended
                for each in self._ready():
                    task = self._running.pop(each)
                    ended = self._end(task, each)
                    if ended is None:
                        waiting.append(task)
                        continue
                    unread.subtract(_digests(task))
                    self._forget(unread)
                    yield task, ended
        finally:
            self.cluster.cancel(list(self._running), _CANCEL_SECONDS)
            self._running.clear()
            self._parts.clear()

    @property
    def running(self) -> int:
        """How many tasks have begun, as far as there is room; others wait in the cluster."""
        return min(len(self._running), self._places())

    def _ready(self) -> Sequence[Any]:
        return self.cluster.ended(list(self._running), _LOOK_SECONDS) if self._running else ()

    def _begin(self, task: Task) -> Ended | None:
        """Submit a task; its end, if it cannot be."""
        if task.cell is None:
            raise ValueError("a task of a cluster needs its cell")
        try:
            needs = self._needs(task, task.cell)
            parts = self._sent(task) if self._sends else {}
        except UsageError as error:
            return refused(error)
        order = Order(cell=task.cell, files=task.files, versions=self.versions, parts=parts)
        self._running[self.cluster.submit(order, needs)] = task
        return None

    def _end(self, task: Task, reference: Any) -> Ended | None:  # noqa: ANN401
        """How a task ended; None where it has to be submitted again with its files."""
        try:
            found = self.cluster.answer(reference)
        except Lost as lost:
            return Ended(
                exit_code=None, stderr=str(lost), seconds=0.0, cpu_seconds=0.0, peak_bytes=0
            )
        if found.ended is None:
            self._sends = True
            return None
        if found.report is not None:
            task.report.write_bytes(found.report)
        return found.ended

    def _needs(self, task: Task, cell: Cell) -> Needs:
        """What a task reserves: no more than the largest node has, on which it then runs alone."""
        gpus = int(asks_for_gpu(cell))
        fitting = [each for each in self._nodes if each.gpus >= gpus]
        if gpus and not fitting:
            raise UsageError(
                "NO_GPU_IN_CLUSTER", "the settings of the cell name a CUDA device",
                why="no machine of the cluster has a GPU",
                fix="start a machine with a GPU, or exclude the environment",
            )  # fmt: skip
        largest = max(fitting, key=lambda each: each.memory, default=None)
        if largest is None:  # no node for tasks is up yet
            return Needs(cpus=CELL_CPUS, memory=task.need_bytes, gpus=gpus)
        return Needs(
            cpus=min(CELL_CPUS, largest.cpus), memory=int(min(task.need_bytes, largest.memory)),
            gpus=gpus,
        )  # fmt: skip

    def _most(self) -> int:
        """How many tasks are submitted at a time, as the cluster is now."""
        if time.monotonic() - self._asked >= _SIZE_SECONDS:
            self._nodes, self._asked = self.cluster.nodes(), time.monotonic()
        return self.jobs or max(_LEAST_SUBMITTED, _QUEUED * self._places())

    def _places(self) -> int:
        return sum(max(1, int(each.cpus // CELL_CPUS)) for each in self._nodes)

    def _sent(self, task: Task) -> dict[str, Sequence[Any]]:
        """What the parts of every file of a task are fetched with, each file put once."""
        for file in _files(task):
            if file.digest not in self._parts:
                self._parts[file.digest] = self._put(file)
        return {digest: self._parts[digest] for digest in _digests(task)}

    def _put(self, file: CellFile) -> list[Any]:
        found, digest = [], hashlib.sha256()
        with Path(file.path).open("rb") as stream:
            while part := stream.read(PART_BYTES):
                digest.update(part)
                found.append(self.cluster.put(part))
        if digest.hexdigest() != file.digest:
            raise UsageError(
                "FILE_CHANGED", "the file changed while the sweep ran:", file=file.path,
                fix="run the sweep again",
            )  # fmt: skip
        return found

    def _forget(self, unread: Mapping[str, int]) -> None:
        """Let the object store have the room of files that no task will read any more."""
        for digest in [each for each in self._parts if unread[each] <= 0]:
            del self._parts[digest]


def asks_for_gpu(cell: Cell) -> bool:
    """Whether a setting of a runtime names a CUDA device or provider."""
    settings = cell.options.get("settings", {})
    values = settings.values() if isinstance(settings, Mapping) else (settings,)
    return any(str(value).lower().startswith("cuda") for value in values)


def _files(task: Task) -> list[CellFile]:
    return [file for files in task.files.values() for file in files]


def _digests(task: Task) -> set[str]:
    return {file.digest for file in _files(task)}
