"""Work in threads: every part once, errors raised, and no more threads than there may be."""

import threading
from functools import partial

import numpy as np
import pytest

from isomorph.core import threads
from isomorph.core.threads import (
    Background,
    in_threads,
    run_all,
    thread_count,
    threads_of_worker,
    threads_per_side,
    use_threads,
)


@pytest.fixture(autouse=True)
def _one_thread():
    yield
    use_threads(1)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_part_is_called_once(count):
    use_threads(count)
    seen = np.zeros(100, int)

    def part(place):
        seen[place] += 1

    run_all([partial(part, place) for place in range(100)])
    assert (seen == 1).all()


@pytest.mark.parametrize("count", [1, 3])
def test_results_have_the_order_of_the_items(monkeypatch, count):
    monkeypatch.setattr(threads, "threads_per_side", lambda: count)
    assert in_threads(lambda number: number * number, range(9)) == [n * n for n in range(9)]


@pytest.mark.parametrize(("count", "own"), [(1, True), (2, False)])
def test_a_single_thread_is_the_calling_one(monkeypatch, count, own):
    monkeypatch.setattr(threads, "threads_per_side", lambda: count)
    (seen,) = in_threads(lambda _: threading.current_thread(), [0])
    assert (seen is threading.current_thread()) is own


def test_parts_run_at_a_time():
    use_threads(3)
    together = threading.Barrier(3)
    run_all([lambda: together.wait(30)] * 3)


@pytest.mark.parametrize(("count", "most"), [(1, None), (4, 1), (4, 0)])
def test_one_thread_calls_the_parts_in_their_order(count, most):
    use_threads(count)
    seen = []
    run_all([partial(seen.append, place) for place in range(9)], most=most)
    assert seen == list(range(9))


def test_no_more_threads_take_part_than_asked_for():
    use_threads(8)
    lock, now, largest = threading.Lock(), [0], [0]

    def part():
        with lock:
            now[0] += 1
            largest[0] = max(largest[0], now[0])
        threading.Event().wait(0.002)
        with lock:
            now[0] -= 1

    run_all([part] * 24, most=2)
    assert largest[0] <= 2


@pytest.mark.parametrize("count", [1, 4])
def test_an_error_of_a_part_is_raised(count):
    use_threads(count)

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_all([lambda: None, fails, *[lambda: None] * 20])


def test_parts_may_have_parts_of_their_own():
    use_threads(2)
    seen = []
    inner = [partial(seen.append, place) for place in range(4)]
    run_all([partial(run_all, inner)] * 8)
    assert sorted(seen) == sorted(list(range(4)) * 8)


def test_parts_see_the_error_state_of_the_calling_thread():
    use_threads(2)
    found = []
    with np.errstate(divide="raise"):
        run_all([lambda: found.append(np.geterr()["divide"])] * 8)
    assert found == ["raise"] * 8


@pytest.mark.parametrize("count", [1, 3])
def test_work_in_the_background_is_done_at_the_end(count):
    use_threads(count)
    seen = []
    with Background(100) as later:
        for place in range(50):
            later.call(partial(seen.append, place), 30)
    assert sorted(seen) == list(range(50))


def test_work_that_holds_too_much_memory_is_done_at_once():
    use_threads(4)
    here = threading.current_thread()
    found = []
    with Background(10) as later:
        later.call(lambda: found.append(threading.current_thread()), 11)
        assert found == [here]
        later.call(lambda: found.append(threading.current_thread()), 10)
    assert found[1] is not here


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_in_the_background_is_raised_at_the_end(count):
    use_threads(count)

    def fails():
        raise ZeroDivisionError

    def work():
        with Background(1 << 20) as later:
            later.call(fails, 1)
            later.call(lambda: None, 1)

    with pytest.raises(ZeroDivisionError):
        work()


def test_a_process_has_one_thread_until_it_asks_for_more():
    assert thread_count() == 1


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "2"}, 2),
        ({"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "20"}, 3),
        ({"OMP_NUM_THREADS": "4,2"}, 8),
        ({"OMP_NUM_THREADS": "0"}, 8),
    ],
)
def test_a_worker_has_the_threads_of_a_side_or_as_few_as_its_environment_says(
    monkeypatch, variables, expected
):
    monkeypatch.setattr(threads, "threads_per_side", lambda: 8)
    assert threads_of_worker(variables) == expected


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 1), (4, 2), (16, 8)])
def test_two_sides_have_half_of_the_cores_each(monkeypatch, cores, expected):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert threads_per_side() == expected
