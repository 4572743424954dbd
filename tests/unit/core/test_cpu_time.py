import os
import subprocess
import sys
import time

from isomorph.core import cpu_time


def test_a_watched_process_counts_while_it_lives_and_once_when_it_has_ended():
    work = "import sys; sum(range(3_000_000)); print('done', flush=True); sys.stdin.read()"
    before = cpu_time.tree_seconds()
    child = subprocess.Popen(
        [sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    cpu_time.watch(child.pid)
    try:
        assert child.stdout.readline() == b"done\n"
        used = cpu_time.process_seconds(child.pid)
        assert used > 0.0
        assert cpu_time.tree_seconds() - before >= used
    finally:
        child.communicate()
        cpu_time.unwatch(child.pid)
    assert cpu_time.process_seconds(child.pid) == 0.0
    assert cpu_time.tree_seconds() - before >= used


def test_our_own_time_is_that_of_the_clock_of_the_process():
    tick = 1.0 / os.sysconf("SC_CLK_TCK")
    children = sum(os.times()[2:4])
    assert abs(cpu_time.process_seconds(os.getpid()) - children - time.process_time()) < 0.5 + tick
    assert cpu_time._seconds_elsewhere(os.getpid()) > 0.0


def test_the_age_of_a_process_is_at_least_its_cpu_time_by_one_thread():
    age = cpu_time.seconds_since_start()
    assert age is None or age > 0.0
