"""Deadlines by a clock that the test moves."""

import os
import threading

import pytest

from isomorph.workers.deadline import WALL_FACTOR, CpuUse, Deadline, LinuxCpuUse
from isomorph.workers.ipc import DeadlineError
from isomorph.workers.worker_death import WorkerDeath, out_of_time


class Machine:
    """A clock, and a worker that uses the cores as a test states."""

    def __init__(self, *, accounted=True):
        self.clock, self.running, self.waiting = 0.0, 0.0, 0.0
        self.blocked, self.accounted = False, accounted

    def use(self):
        if not self.accounted:
            return None
        return CpuUse(running=self.running, waiting=self.waiting, blocked=self.blocked)

    def deadline(self, seconds, share=1.0):
        return Deadline(seconds, self.use, now=lambda: self.clock, share=lambda: share)

    def until_stopped(self, deadline, *, running=0.0, waiting=0.0, step=0.1, most=10_000):
        """The time at which the deadline ends a worker with such shares of every second."""
        for _ in range(most):
            self.clock += step
            self.running += running * step
            self.waiting += waiting * step
            try:
                deadline.check()
            except DeadlineError:
                return self.clock
        return None


@pytest.mark.parametrize(
    ("running", "waiting"),
    [(1.0, 0.0), (0.0, 0.0), (0.3, 0.0), (8.0, 0.0)],
    ids=["computes", "sleeps", "computes now and then", "computes in threads"],
)
def test_on_a_quiet_machine_it_is_the_clock_that_counts(running, waiting):
    machine = Machine()
    stopped = machine.until_stopped(machine.deadline(5.0), running=running, waiting=waiting)
    assert stopped == pytest.approx(5.0, abs=0.2)


def test_time_without_a_core_does_not_count():
    machine = Machine()
    deadline = machine.deadline(5.0)
    stopped = machine.until_stopped(deadline, running=0.25, waiting=0.75)
    assert stopped == pytest.approx(20.0, abs=1.0)
    assert not deadline.starved


def test_threads_that_share_cores_with_others_count_by_what_they_got():
    machine = Machine()
    stopped = machine.until_stopped(machine.deadline(5.0), running=1.0, waiting=3.0)
    assert stopped == pytest.approx(20.0, abs=1.0)


def test_eight_seconds_of_cpu_in_two_minutes_are_no_timeout():
    machine = Machine()
    deadline = machine.deadline(120.0)
    share = 8 / 120
    stopped = machine.until_stopped(deadline, running=share, waiting=1 - share, most=1200)
    assert stopped is None


@pytest.mark.parametrize("blocked", [True, False])
def test_a_worker_that_is_stopped_ends_at_the_limit_of_wall_time(blocked):
    machine = Machine()
    deadline = machine.deadline(2.0)
    machine.blocked = blocked
    stopped = machine.until_stopped(deadline)
    assert stopped == pytest.approx(2.0 * WALL_FACTOR if blocked else 2.0, abs=0.6)
    assert deadline.starved == blocked


@pytest.mark.parametrize(("share", "expected"), [(1.0, 4.0), (0.25, 16.0)])
def test_where_nothing_is_accounted_for_the_load_of_the_machine_counts(share, expected):
    machine = Machine(accounted=False)
    stopped = machine.until_stopped(machine.deadline(4.0, share))
    assert stopped == pytest.approx(expected, abs=1.0)


@pytest.mark.parametrize("command", ["load", "run"])
def test_only_a_worker_that_had_its_time_is_suspected(command):
    def why(machine, **use):
        deadline = machine.deadline(2.0)
        machine.until_stopped(deadline, **use)
        return out_of_time(WorkerDeath(doing="loading", file="m.onnx"), deadline, command).why

    starved = why(Machine(), running=0.01, waiting=0.99)
    assert "the machine was busy" in starved
    assert "s of CPU time while 20" in starved
    assert "may" not in starved
    assert "may" in why(Machine(), running=1.0)


def test_linux_accounts_for_every_thread():
    use = LinuxCpuUse(os.getpid())
    before = use()
    if before is None:
        pytest.skip("this system does not account for the threads of a process")

    thread = threading.Thread(target=sum, args=(range(3_000_000),))
    thread.start()
    thread.join()
    sum(range(3_000_000))
    after = use()
    assert after.running > before.running
    assert after.waiting >= before.waiting
    assert not after.blocked


def test_a_process_that_has_gone_is_not_accounted_for():
    assert LinuxCpuUse(2**22 + 1)() is None
