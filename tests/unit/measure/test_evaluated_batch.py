"""Many samples go to a model at once; where that fails, each is evaluated when it is asked."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, TensorSpec
from isomorph.measure import evaluated_batch
from isomorph.measure.evaluated_batch import draw_tails, run_together, samples_at_once


class Many:
    """A session that takes many requests at once."""

    def __init__(self, fails=False):
        self.fails, self.asked = fails, []

    def run_many(self, requests):
        self.asked.append(list(requests))
        if self.fails:
            raise RuntimeFailedError("X", "broken")
        return [f"result of {each}" for each in requests]


class Model:
    def __init__(self, name, runtime, oracle, tail=None):
        self.name, self.kept, self.tail_made = name, {}, tail
        self.runtime, self.oracle = lambda: runtime, lambda: oracle

    def request(self, session):
        return self.name

    def keep_run(self, found):
        self.kept["run"] = found

    def keep_oracle(self, found):
        self.kept["oracle"] = found

    def tail(self):
        return self.tail_made


def test_each_model_keeps_the_results_of_its_own_feeds():
    runtime, oracle = Many(), Many()
    models = [Model(name, runtime, oracle) for name in "abc"]
    run_together(models)
    assert runtime.asked == oracle.asked == [["a", "b", "c"]]
    assert [each.kept for each in models] == [
        {"run": f"result of {name}", "oracle": f"result of {name}"} for name in "abc"
    ]


@pytest.mark.parametrize("runtime", [Many(fails=True), SimpleNamespace()])
def test_where_a_run_fails_or_takes_one_at_a_time_nothing_is_kept_of_it(runtime):
    models = [Model(name, runtime, Many()) for name in "ab"]
    run_together(models)
    assert [set(each.kept) for each in models] == [{"oracle"}, {"oracle"}]


def test_a_session_that_does_not_open_leaves_everything_to_be_asked():
    def broken():
        raise RuntimeFailedError("X", "broken")

    model = Model("a", Many(), Many())
    model.runtime = broken
    run_together([model])
    assert set(model.kept) == {"oracle"}


class Tail:
    def __init__(self, *requests):
        self.requests, self.added = requests, None

    def first_requests(self):
        return self.requests

    def add_first(self, found):
        self.added = found


def test_the_draws_of_all_tails_are_made_at_once_and_dealt_out_again():
    oracle, first, second = Many(), Tail("p", "q"), Tail("r")
    models = [
        Model("a", None, oracle, first),
        Model("b", None, oracle),
        Model("c", None, oracle, second),
    ]
    draw_tails(models)
    assert oracle.asked == [["p", "q", "r"]]
    assert first.added == ["result of p", "result of q"]
    assert second.added == ["result of r"]


def test_draws_that_fail_are_left_to_be_made():
    tail = Tail("p")
    draw_tails([Model("a", None, Many(fails=True), tail)])
    assert tail.added is None


def sized(elements):
    outputs = (TensorSpec(name="y", dtype="float32", shape=(elements,)),)
    graph = Graph(name="g", inputs=(), outputs=outputs, nodes=(), tensors={}, constants={})
    return SimpleNamespace(model=SimpleNamespace(graph=graph), feeds={"x": np.zeros(1)})


def test_as_many_samples_go_at_once_as_fit_and_at_least_one(monkeypatch):
    monkeypatch.setattr(evaluated_batch, "share_of_memory", lambda _: 1 << 20)
    assert samples_at_once([sized(1)], 7) == 7
    assert samples_at_once([sized(1)], 1000) == 32
    assert samples_at_once([sized(1 << 30)], 7) == 1
    few = samples_at_once([sized(2000)], 1000)
    assert 1 < few < 32
    assert samples_at_once([sized(2000), sized(2000)], 1000) == few // 2
