"""Both sides are evaluated at the same time where each has a process of its own."""

import threading
from types import SimpleNamespace

import pytest

from isomorph.core.limits import NODE_OUTPUTS, noted_limits
from isomorph.measure.parallel import evaluate_all, evaluate_tails, run_parallel


def side(isolated=True, calls=None, tail=None, pending=True):
    def call(name):
        return lambda: calls.append(name) if calls is not None else None

    names = ("runtime_outputs", "oracle_outputs", "rounding")
    return SimpleNamespace(
        isolated=isolated, tail=lambda: tail, pending=lambda **_: pending,
        **{n: call(n) for n in names},
    )  # fmt: skip


def test_work_that_is_apart_runs_at_the_same_time():
    started = threading.Barrier(2)
    run_parallel(lambda: started.wait(30), lambda: started.wait(30), apart=True)


def test_other_work_runs_in_its_order_in_this_thread():
    seen = []

    def work(name):
        return lambda: seen.append((name, threading.current_thread()))

    run_parallel(work("a"), work("b"), apart=False)
    here = threading.current_thread()
    assert seen == [("a", here), ("b", here)]


@pytest.mark.parametrize("apart", [True, False])
def test_an_error_is_raised_here(apart):
    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_parallel(lambda: None, fails, apart=apart)


def test_limits_that_a_thread_hits_are_noted_for_this_check():
    with noted_limits() as hit:
        run_parallel(lambda: None, NODE_OUTPUTS.reached, apart=True)
    assert NODE_OUTPUTS in hit


def test_everything_of_each_side_is_evaluated():
    left, right = [], []
    evaluate_all(side(calls=left), side(calls=right))
    assert left == right == ["runtime_outputs", "oracle_outputs", "rounding"]


def test_nothing_is_started_for_a_side_that_is_evaluated_already(monkeypatch):
    monkeypatch.setattr("isomorph.measure.parallel.ThreadPoolExecutor", None)
    left, right = [], []
    known = side(calls=left, pending=False)
    evaluate_all(known, side(calls=right))
    assert (left, right) == ([], ["runtime_outputs", "oracle_outputs", "rounding"])
    evaluate_tails(known, side(calls=right, pending=False))
    assert (left, len(right)) == ([], 3)


def test_there_are_two_tails_or_none():
    assert evaluate_tails(side(tail="a"), side(tail="b")) == ("a", "b")
    assert evaluate_tails(side(tail="a"), side(tail=None)) is None
    assert evaluate_tails(side(tail=None), side(tail="b")) is None
