"""All cells of a plan: those that are done are taken from the store, the others are run."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from isomorph.core.errors import IsomorphError
from isomorph.core.sweep import CellResult, CellStatus, Sweep, Verb
from isomorph.core.sweep_limits import SWEEP_ATTEMPTS
from isomorph.store.sweep_store import report_of
from isomorph.sweeping.cell_command import command_words
from isomorph.sweeping.cell_keys import CellKeys, versions
from isomorph.sweeping.cell_run import answer, blank, report_words
from isomorph.sweeping.task import BYTES_PER_BYTE, START_BYTES, Task
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.sweep import Cell, SweepPlan
    from isomorph.store.sweep_store import SweepStore
    from isomorph.sweeping.cell_process import Ended


class Engine(Protocol):
    """Where cells run."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ended]]:
        """Each task with how it ended, as they end."""

    @property
    def running(self) -> int:
        """How many tasks have begun and not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressing:
    """How far a sweep is, after each cell; of those that were not known, in this run.

    ``running`` have begun and not ended. ``outcomes`` counts those that are done, by verdict.
    """

    done: int
    total: int
    running: int
    running_since: float
    latest: CellResult
    slowest: CellResult
    outcomes: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class Sweeping:
    """One run over a plan. ``again`` tells which known answers are asked for once more."""

    plan: SweepPlan
    store: SweepStore
    engine: Engine
    again: Callable[[CellResult], bool] = lambda _: False
    on_cell: Callable[[Progressing], None] = lambda _: None
    _results: dict[int, CellResult] = field(default_factory=dict)
    _begun: float = field(default_factory=time.monotonic)

    def sweep(self, chosen: Sequence[Cell], *, whole: bool = False) -> Sweep:
        """The results of these cells of the plan; an interruption keeps all that is done.

        ``whole`` says that they are all of the plan: the store then forgets the names of others.
        """
        interrupted = False
        try:
            tasks, places = self._tasks(chosen)
            self.store.note_names(list(self._results.values()), whole=whole)
            self._run(tasks, places)
        except KeyboardInterrupt:
            interrupted = True
        for place, cell in enumerate(chosen):
            self._results.setdefault(place, blank(cell, ""))
        return Sweep(
            file=self.plan.file, store=str(self.store.folder), interrupted=interrupted,
            cells=tuple(self._results[place] for place in range(len(chosen))),
            seconds=time.monotonic() - self._begun, version=VERSION,
        )  # fmt: skip

    def _tasks(self, chosen: Sequence[Cell]) -> tuple[list[Task], dict[str, list[int]]]:
        """What has to be run, each key once, and the cells that it answers."""
        keys, places, tasks = CellKeys(self.store, versions()), dict[str, list[int]](), []
        for place, cell in enumerate(chosen):
            try:
                key = keys.key(cell)
                words = command_words(cell, str(self._made(key)))
            except IsomorphError as error:
                self._results[place] = replace(
                    blank(cell, ""), status=CellStatus.DONE, exit_code=error.exit_code,
                    reason=f"error[{error.code}] {error.sentence}",
                )  # fmt: skip
                continue
            self._results[place] = blank(cell, key)
            known = self.store.result(key)
            if known is not None:
                found = replace(blank(cell, key), **known)
                if not self.again(found):
                    self._results[place] = found
                    continue
            if key not in places:
                tasks.append(self._task(cell, key, words, keys))
            places.setdefault(key, []).append(place)
        return tasks, places

    def _task(self, cell: Cell, key: str, words: Sequence[str], keys: CellKeys) -> Task:
        report = self.store.running / f"{key}.json"
        size = sum(_size(Path(each)) for each in (cell.reference, cell.candidate) if each)
        stated = cell.options.get("memory")
        need = int(stated) if stated else START_BYTES + BYTES_PER_BYTE * size
        return Task(
            key=key, words=(*words, *report_words(report, cell.verb)), folder=self.store.running,
            need_bytes=need, report=report, cell=cell, files=keys.files(cell),
        )  # fmt: skip

    def _run(self, tasks: Sequence[Task], places: Mapping[str, Sequence[int]]) -> None:
        """Run all tasks; one whose process was ended from outside is run again, a few times."""
        total, since = sum(len(each) for each in places.values()), time.monotonic()
        left, outcomes, slowest = list(tasks), Counter[str](), None
        for attempt in range(1, SWEEP_ATTEMPTS + 1):
            lost: list[Task] = []
            with closing(self.engine.run(left)) as ending:  # type: ignore[type-var]
                for task, ended in ending:
                    if ended.exit_code is None and attempt < SWEEP_ATTEMPTS:
                        lost.append(task)
                        continue
                    latest = self._note(task, ended, attempt, places[task.key])
                    outcomes[latest.outcome] += len(places[task.key])
                    if slowest is None or latest.seconds > slowest.seconds:
                        slowest = latest
                    self.on_cell(Progressing(
                        done=outcomes.total(), total=total, running=self.engine.running,
                        running_since=since, latest=latest, slowest=slowest, outcomes=outcomes,
                    ))  # fmt: skip
            if not lost:
                return
            left = lost

    def _made(self, key: str) -> Path:
        """Where a conversion writes its result, until its report is kept."""
        return self.store.running / f"{key}.made"

    @property
    def _verb(self) -> Verb:
        return self.plan.cells[0].verb

    def _note(self, task: Task, ended: Ended, attempt: int, places: Sequence[int]) -> CellResult:
        """Keep the report of a task. What has none is not kept: the next sweep tries it again.

        That is what was lost, and errors: a full disk or a missing package is no fact of a model.
        """
        written = self.store.running / f"{task.key}.json"
        for each in self.store.running.glob(f"{self._made(task.key).name}*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        facts = answer(self._verb, ended, written)
        has_report = written.is_file() and ended.exit_code is not None
        facts |= {"attempts": attempt, "report": report_of(task.key) if has_report else ""}
        for place in places:
            self._results[place] = replace(self._results[place], **facts)
        result = self._results[places[0]]
        if has_report:
            self.store.keep(result, written)
        return result


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return path.stat().st_size
