"""The part of a main graph that does not depend on the framework."""

from dataclasses import replace

import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.oracle.evaluator import Evaluator
from isomorph.oracle.named_graph import same_in_every_run
from toy_graph import ToyGraph

STEPS = [("third", ("w",), "v"), ("add", ("x", "v"), "y")]


def test_stored_tensors_are_known_by_their_names():
    graph = ToyGraph(STEPS, {"w": [3.0]}, outputs=["y"])
    assert graph.is_stored("w")
    assert not graph.is_stored("v")
    assert Evaluator(graph).run({"x": np.zeros(1)}, ["w"])["w"].tolist() == [3.0]


def test_a_name_that_no_tensor_has_is_refused():
    evaluator = Evaluator(ToyGraph(STEPS, {"w": [3.0]}))
    with pytest.raises(UsageError) as caught:
        evaluator.run({"x": np.zeros(1)}, ["z"])
    assert caught.value.code == "UNKNOWN_TENSOR"


def test_what_follows_from_stored_tensors_is_computed_once_until_it_is_released():
    graph = ToyGraph(STEPS, {"w": [3.0]})
    evaluator = Evaluator(graph)
    for _ in range(2):
        evaluator.run({"x": np.zeros(1)}, ["y"])
    assert graph.computed == ["third:0", "add:1", "add:1"]
    evaluator.close()
    evaluator.run({"x": np.zeros(1)}, ["y"])
    assert graph.computed[3:] == ["third:0", "add:1"]


def test_a_random_number_follows_from_nothing():
    third, add = ToyGraph(STEPS, {"w": [3.0]}).steps
    assert same_in_every_run(third, {"w"})
    assert not same_in_every_run(add, {"w", "v"})
    assert not same_in_every_run(replace(third, random=True), {"w"})
