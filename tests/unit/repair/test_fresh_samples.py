"""Fresh inputs are like the given ones, and are not them."""

import numpy as np
import pytest

from isomorph.core.model import Graph, TensorSpec
from isomorph.inputs.feeds import Sample
from isomorph.repair.fresh_samples import proof_samples


def graph(*specs):
    return Graph(name="g", inputs=specs, outputs=(), nodes=(), tensors={}, constants={})


FLOAT = TensorSpec(name="x", dtype="float32", shape=("batch", 4))
WHOLE = TensorSpec(name="ids", dtype="int64", shape=(None, 3))


@pytest.fixture
def given():
    random = np.random.default_rng(0)
    feeds = {
        "x": (50 + 3 * random.standard_normal((5, 4))).astype(np.float32),
        "ids": np.array([[3, 5, 9]] * 2),
    }
    return Sample(origin="given", feeds=feeds)


def test_the_given_inputs_come_first_and_fresh_ones_follow(given):
    samples = proof_samples(graph(FLOAT, WHOLE), given, {}, {}, seed=1)
    assert samples[0] is given
    assert len(samples) == 3
    for sample in samples[1:]:
        x = sample.feeds["x"]
        assert (x.shape, x.dtype) == ((5, 4), np.float32)
        assert not np.array_equal(x, given.feeds["x"])
        assert 40 < x.min() <= x.max() < 60
        assert sample.feeds["ids"].dtype == np.int64


def test_redrawn_whole_numbers_stay_among_the_given_ones(given):
    samples = proof_samples(graph(FLOAT, WHOLE), given, {}, {}, seed=1)
    assert set(samples[-1].feeds["ids"].reshape(-1)) <= {3, 5, 9}


def test_one_seed_makes_the_same_inputs_and_another_makes_others(given):
    def drawn(seed):
        return proof_samples(graph(FLOAT), given, {}, {}, seed=seed)[1].feeds["x"]

    assert np.array_equal(drawn(1), drawn(1))
    assert not np.array_equal(drawn(1), drawn(2))


def test_without_inputs_two_seeds_are_made_up():
    samples = proof_samples(graph(FLOAT), None, {"batch": 2}, {}, seed=0)
    assert len(samples) == 4
    assert len({sample.origin for sample in samples}) == 4


def test_a_signature_that_cannot_be_made_up_is_proven_on_redrawn_values(given):
    strange = TensorSpec(name="x", dtype=None, shape=None)
    samples = proof_samples(graph(strange), given, {}, {}, seed=0)
    assert [sample.origin.partition(":")[0] for sample in samples] == ["given", "fresh"]


def test_fresh_integers_stay_where_the_given_ones_are_valid():
    given = Sample(
        origin="file",
        feeds={"x": np.ones((2, 3), np.float32), "ids": np.array([3, 5, 4, 3, 5], np.int64)},
    )
    for sample in proof_samples(graph(FLOAT, WHOLE), given, {}, {}, seed=1)[1:]:
        assert set(np.unique(sample.feeds["ids"])) <= {3, 4, 5}
