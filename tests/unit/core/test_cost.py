import threading

import pytest

from isomorph.core import cost as costs
from isomorph.core.cost import OTHER, CostMeter, cost_so_far, metered, phase, waiting


class Clock:
    def __init__(self):
        self.wall = self.cpu = 0.0

    def spend(self, wall, cpu):
        self.wall += wall
        self.cpu += cpu


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def meter(clock):
    return CostMeter(now=lambda: clock.wall, cpu=lambda: clock.cpu)


def spent(meter):
    return {each.name: (each.wall, each.cpu) for each in meter.cost().phases}


def test_an_inner_phase_does_not_count_for_the_outer_one(clock, meter):
    clock.spend(1, 1)
    meter.enter("compare")
    clock.spend(2, 1)
    meter.enter("oracle")
    clock.spend(4, 8)
    meter.leave()
    clock.spend(1, 0)
    meter.leave()
    assert spent(meter) == {OTHER: (1, 1), "compare": (3, 1), "oracle": (4, 8)}


def test_the_phases_together_are_the_whole_and_the_costliest_comes_first(clock, meter):
    for name, wall, cpu in (("load", 3, 1), ("oracle", 2, 7), ("load", 1, 1), ("locate", 5, 2)):
        meter.enter(name)
        clock.spend(wall, cpu)
        meter.leave()
    cost = meter.cost()
    assert (cost.wall, cost.cpu) == (11, 11)
    assert [each.name for each in cost.phases][:3] == ["oracle", "locate", "load"]


def test_phases_at_the_same_time_share_it_and_who_waits_has_none(clock, meter, monkeypatch):
    threads = iter(())
    monkeypatch.setattr(costs.threading, "get_ident", lambda: next(threads))
    threads = iter([1, 1, 2, 3, 2, 2, 3, 3, 1, 1])
    meter.enter("compare")
    meter.enter("")  # the first thread waits
    meter.enter("oracle")
    meter.enter("run")
    clock.spend(4, 6)
    meter.leave()
    clock.spend(1, 1)
    assert spent(meter) == {OTHER: (0, 0), "compare": (0, 0), "oracle": (2, 3), "run": (3, 4)}


def test_a_worker_that_ends_between_two_readings_gives_no_negative_time(clock, meter):
    meter.enter("run")
    clock.spend(1, -2)
    meter.leave()
    assert spent(meter)["run"] == (1, 0)


def test_phases_of_threads_count_for_the_command_that_started_them():
    from contextvars import copy_context

    def work():
        with phase("oracle"):
            pass

    with metered() as meter:
        context = copy_context()
        thread = threading.Thread(target=context.run, args=(work,))
        with waiting():
            thread.start()
            thread.join()
        assert cost_so_far() is not None
    assert "oracle" in spent(meter)
    assert "" not in spent(meter)


def test_nothing_is_measured_outside_a_command():
    with phase("oracle"):
        assert cost_so_far() is None


def test_a_phase_that_fails_ends():
    with metered() as meter:
        with pytest.raises(ValueError, match="no"), phase("run"):
            raise ValueError("no")
        assert not meter._stacks
