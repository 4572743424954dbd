"""Rows that are taken from a stored table: in float64, disturbed where the table is."""

import numpy as np
import pytest
import torch
from torch import nn

from isomorph.core.trace import Noise
from isomorph.frameworks.pytorch import weight_cache
from pytorch_networks import load, oracle, outputs

TOKENS = torch.tensor([[3, 1, 4, 1]])


@pytest.fixture(scope="module")
def embedded():
    torch.manual_seed(0)
    module = nn.Embedding(1000, 8)
    model = load(module, TOKENS)
    feeds = {model.graph.inputs[0].name: TOKENS.numpy()}
    return model, feeds, module.weight.detach().numpy()


def test_rows_are_the_stored_ones_in_float64(embedded):
    model, feeds, table = embedded
    (name,) = outputs(model)
    for noise in (None, Noise(seed=1, rounding=True)):
        rows = oracle(model).run(feeds, [name], noise=noise)[name]
        assert rows.dtype == np.float64
        assert np.array_equal(rows, table[TOKENS.numpy()].astype(np.float64))


def test_a_whole_table_is_not_lifted_for_a_few_rows(embedded, monkeypatch):
    model, feeds, _ = embedded

    def refused(value):
        raise AssertionError(f"lifted {tuple(value.shape)}")

    monkeypatch.setattr(weight_cache, "lifted", refused)
    oracle(model).run(feeds, outputs(model))


def test_rows_of_a_disturbed_table_are_disturbed(embedded):
    model, feeds, table = embedded
    (name,) = outputs(model)
    (constant,) = model.graph.constants
    rows = oracle(model).run(feeds, [name], noise=Noise(seed=1, constants=(constant,)))[name]
    moved = np.abs(rows - table[TOKENS.numpy()])
    assert 0 < moved.max() < np.spacing(np.float32(np.abs(table).max()))


def test_rows_of_a_table_that_was_fed_are_those(embedded):
    model, feeds, table = embedded
    (name,) = outputs(model)
    (constant,) = model.graph.constants
    rows = oracle(model).run({**feeds, constant: table * 3.0}, [name])[name]
    assert np.array_equal(rows, (table * 3.0)[TOKENS.numpy()])
