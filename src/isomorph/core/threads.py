"""The threads of one oracle, so that two of them can run at a time without waiting for cores.

Work is cut into parts that depend on sizes alone, never on the number of threads: results are the
same bit by bit whatever machine computes them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from types import TracebackType
from typing import TypeVar

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")

LIBRARY_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Where users state how many threads the libraries of a process may use."""


def threads_per_side() -> int:
    """Half of the cores that this process may use: reference and candidate run at a time.

    Two pools that each take every core wait for one another far longer than they compute.
    """
    available = getattr(os, "sched_getaffinity", None)
    cores = len(available(0)) if available is not None else os.cpu_count() or 1
    return max(1, cores // 2)


def in_threads(work: Callable[[_Item], _Found], items: Iterable[_Item]) -> list[_Found]:
    """The result for each item, several at a time where a side has several threads.

    For work that lets other threads run. A single thread would cost more than it brings.
    """
    count = threads_per_side()
    if count == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, items))


def threads_of_worker(variables: Mapping[str, str]) -> int:
    """The threads of a worker with this environment: those of a side, or fewer if it says so."""
    stated = [variables.get(name, "") for name in LIBRARY_VARIABLES]
    limits = [int(number) for number in stated if number.isdecimal() and int(number) > 0]
    return min((threads_per_side(), *limits))


class _Threads:
    """The threads of this process, started when they are first used."""

    def __init__(self) -> None:
        self.count = 1
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def use(self, count: int) -> None:
        """Compute with so many threads from now on, the calling one included."""
        with self._lock:
            pool, self._pool, self.count = self._pool, None, max(1, count)
        if pool is not None:
            pool.shutdown(wait=False)

    def start(self, work: Callable[[], None]) -> Future[None]:
        """Begin work in another thread, in a copy of the context of this one."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    max(1, self.count - 1), thread_name_prefix="isomorph compute"
                )
            return self._pool.submit(copy_context().run, work)


_threads = _Threads()


def use_threads(count: int) -> None:
    """Let this process compute with so many threads.

    One until then: a process whose BLAS has threads of its own would have too many.
    """
    _threads.use(count)


def thread_count() -> int:
    """The number of threads that this process computes with."""
    return _threads.count


def run_all(parts: Sequence[Callable[[], None]], *, most: int | None = None) -> None:
    """Call every part, in at most so many threads; the error of the first that fails is raised.

    This thread takes part. No part may depend on another.
    """
    helpers = min(thread_count(), len(parts), len(parts) if most is None else max(1, most)) - 1
    if helpers < 1:
        for part in parts:
            part()
        return
    left = iter(list(enumerate(parts)))
    failed: list[tuple[int, BaseException]] = []

    def work() -> None:
        # Iterators of lists hand out every element once, to whichever thread asks.
        for place, part in left:
            if failed:
                return
            try:
                part()
            except BaseException as error:  # noqa: BLE001 - raised in the calling thread
                failed.append((place, error))
                return

    started = [_threads.start(work) for _ in range(helpers)]
    work()
    # A helper that has not begun has nothing left to do, and may wait for this very thread.
    wait([each for each in started if not each.cancel()])
    if failed:
        raise min(failed, key=lambda each: each[0])[1]


class Background:
    """Work that other threads do while this one goes on; all of it is done when the block ends.

    What the waiting work holds in memory is limited to ``most_bytes``: beyond it, and where there
    is one thread, work is done at once.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._started: list[tuple[Future[None], int]] = []

    def call(self, work: Callable[[], None], size: int) -> None:
        """Do this work, which holds so many bytes until it is done."""
        self._started = [each for each in self._started if not _succeeded(each[0])]
        held = sum(bytes_held for _, bytes_held in self._started)
        helpers = thread_count() - 1
        if held + size > self._most or len(self._started) >= 2 * helpers:
            work()
            return
        self._started.append((_threads.start(work), size))

    def finish(self) -> None:
        """Wait for all work that was begun; the error of the first that failed is raised."""
        started, self._started = self._started, []
        wait([future for future, _ in started])
        for future, _ in started:
            future.result()

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()
            return
        for future, _ in self._started:
            future.cancel()
        wait([future for future, _ in self._started])


def _succeeded(future: Future[None]) -> bool:
    """Whether it is done without an error, which is raised at the end."""
    return future.done() and future.exception() is None
