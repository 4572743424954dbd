"""Tasks share jobs and memory, and end with the engine."""

import threading
from pathlib import Path

import pytest

from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.local_engine import LocalEngine
from isomorph.sweeping.task import Task

ENDED = Ended(exit_code=0, stderr="", seconds=0.0, cpu_seconds=0.0, peak_bytes=0)


class Controlled:
    """Processes that end when a test says so."""

    def __init__(self):
        self.running, self.most, self.lock = {}, [], threading.Lock()

    def start(self, task):
        return Fake(self, task)


class Fake:
    def __init__(self, owner, task):
        self.owner, self.task, self.ended = owner, task, threading.Event()
        with owner.lock:
            owner.running[task.key] = self
            owner.most.append(set(owner.running))

    def run(self):
        self.ended.wait(10)
        with self.owner.lock:
            self.owner.running.pop(self.task.key, None)
        return ENDED

    def stop(self):
        self.ended.set()


def task(key, need=1):
    return Task(key=key, words=(), folder=Path(), need_bytes=need)


def run(controlled, tasks, *, jobs, memory_bytes):
    """Each task ends as soon as nothing more can begin; the keys in the order of their ends."""
    engine = LocalEngine(jobs=jobs, memory_bytes=memory_bytes, start=controlled.start)
    ending, order = engine.run(tasks), []
    stop = threading.Event()

    def end_all():
        while not stop.wait(0.02):
            for each in list(controlled.running.values()):
                each.ended.set()

    thread = threading.Thread(target=end_all)
    thread.start()
    try:
        order = [each.key for each, _ in ending]
    finally:
        stop.set()
        thread.join()
    return order


def test_no_more_run_than_there_are_jobs():
    controlled = Controlled()
    order = run(controlled, [task(str(at)) for at in range(7)], jobs=3, memory_bytes=100)
    assert sorted(order) == [str(at) for at in range(7)]
    assert max(map(len, controlled.most)) == 3


def test_two_that_do_not_fit_into_memory_do_not_run_at_a_time():
    controlled = Controlled()
    tasks = [task("large", 7), task("also large", 6), task("small", 2)]
    run(controlled, tasks, jobs=3, memory_bytes=10)
    assert {"large", "small"} in controlled.most
    assert not any({"large", "also large"} <= each for each in controlled.most)


def test_what_never_fits_runs_alone():
    controlled = Controlled()
    order = run(controlled, [task("huge", 99), task("small", 1)], jobs=2, memory_bytes=10)
    assert sorted(order) == ["huge", "small"]
    assert not any(len(each) > 1 for each in controlled.most if "huge" in each)


def test_what_runs_is_ended_where_the_caller_leaves():
    controlled = Controlled()
    engine = LocalEngine(jobs=2, memory_bytes=10, start=controlled.start)
    ending = engine.run([task("a"), task("b"), task("c")])

    def end_one():
        next(iter(controlled.running.values())).ended.set()

    threading.Timer(0.1, end_one).start()
    next(ending)
    ending.close()
    assert all(each.ended.is_set() for each in controlled.running.values())


def test_a_process_that_cannot_be_started_is_an_error():
    class Broken:
        def run(self):
            raise OSError("no room for a process")

        def stop(self):
            pass

    engine = LocalEngine(jobs=1, memory_bytes=10, start=lambda _: Broken())
    with pytest.raises(OSError, match="no room"):
        list(engine.run([task("a")]))
