"""Products of the oracle: those of torch, by a kernel whose bits no number of threads changes."""

import numpy as np
import pytest
import torch
from torch import nn

from isomorph.core.threads import use_threads
from isomorph.core.trace import Noise, RunRequest
from isomorph.frameworks.pytorch import weight_cache
from isomorph.frameworks.pytorch.arrays import to_array
from isomorph.frameworks.pytorch.products import multiplied
from isomorph.frameworks.pytorch.program import Step
from isomorph.kernels import blocked_products
from isomorph.oracle import stored_matrix
from isomorph.oracle.stored_matrix import StoredMatrix
from pytorch_networks import fetchable, load, oracle

ATEN = torch.ops.aten


@pytest.fixture(autouse=True)
def _one_thread():
    yield
    use_threads(1)


def step(target):
    return Step(target=target, args=(), kwargs={}, outputs=("y",), name="product")


def drawn(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).normal(size=shape))


CASES = {
    "linear": (ATEN.linear.default, [drawn(2, 5, 7), drawn(3, 7), drawn(3)]),
    "linear without bias": (ATEN.linear.default, [drawn(4, 7), drawn(3, 7)]),
    "addmm": (ATEN.addmm.default, [drawn(3), drawn(4, 7), drawn(7, 3)]),
    "mm": (ATEN.mm.default, [drawn(4, 7), drawn(3, 7).t()]),
    "matmul": (ATEN.matmul.default, [drawn(2, 5, 4, 7), drawn(7, 3)]),
    "one row": (ATEN.mm.default, [drawn(1, 7), drawn(7, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product_is_that_of_torch(name):
    target, arguments = CASES[name]
    found = multiplied(step(target), list(arguments), {})
    assert found is not None
    torch.testing.assert_close(found, target(*arguments), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ["linear", "addmm", "mm", "matmul"])
def test_no_number_of_threads_changes_a_bit(name, monkeypatch):
    monkeypatch.setattr(blocked_products, "_BLOCK_WORK", 1)
    monkeypatch.setattr(blocked_products, "_SHORTEST", 1)
    target, arguments = CASES[name]
    found = []
    for count in (1, 4):
        use_threads(count)
        found.append(multiplied(step(target), list(arguments), {}))
    assert torch.equal(*found)


@pytest.mark.parametrize(
    ("target", "arguments", "named"),
    [
        (ATEN.mm.default, [drawn(4, 7).float(), drawn(7, 3).float()], {}),
        (ATEN.addmm.default, [drawn(3), drawn(4, 7), drawn(7, 3)], {"alpha": 2.0}),
        (ATEN.addmm.default, [drawn(3), drawn(4, 7), drawn(7, 3)], {"beta": 0}),
        (ATEN.matmul.default, [drawn(2, 4, 7), drawn(2, 7, 3)], {}),
        (ATEN.matmul.default, [drawn(7), drawn(7, 3)], {}),
        (ATEN.mm.default, [drawn(0, 7), drawn(7, 3)], {}),
        (ATEN.relu.default, [drawn(4, 7)], {}),
    ],
)
def test_what_is_no_product_with_one_matrix_of_float64_is_left_to_torch(target, arguments, named):
    assert multiplied(step(target), arguments, named) is None


class Products(nn.Module):
    """A product with and without an addend, and with the matrix as it is stored."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 4, bias=False)
        self.matrix = nn.Parameter(torch.randn(4, 5))
        self.added = nn.Parameter(torch.randn(5))
        self.to(dtype)

    def forward(self, x):
        return torch.addmm(self.added, self.last(torch.tanh(self.first(x))), self.matrix)


@pytest.fixture
def in_blocks(monkeypatch):
    """Lift every matrix in blocks; the rows of each pass over one."""
    passes, plain = [], StoredMatrix._multiplied

    def counted(self, rows):
        passes.append(len(rows))
        return plain(self, rows)

    def use():
        monkeypatch.setattr(stored_matrix, "LARGE", 1)
        monkeypatch.setattr(weight_cache, "LIFTED_WEIGHT_BYTES", 1)
        monkeypatch.setattr(StoredMatrix, "_multiplied", counted)
        return passes

    return use


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("seed", [None, 3])
def test_matrices_lifted_in_blocks_give_what_whole_ones_do(in_blocks, dtype, seed):
    x = torch.randn(3, 6).to(dtype)
    model = load(Products(dtype), x)
    feeds = {model.graph.inputs[0].name: to_array(x)}
    noise = None if seed is None else Noise(seed=seed, rounding=True)
    whole = oracle(model).run(feeds, fetchable(model), noise=noise)
    passes = in_blocks()
    blocks = oracle(model).run(feeds, fetchable(model), noise=noise)
    assert len(passes) == (3 if noise is None else 6), "the sizes of sums take a pass each"
    # A deviation has seven digits.
    close = 1e-13 if noise is None else 1e-12
    for name, value in whole.items():
        np.testing.assert_allclose(blocks[name], value, rtol=close, atol=close)


def test_draws_side_by_side_take_one_pass_over_each_matrix(in_blocks):
    x = torch.randn(3, 6)
    model = load(Products(), x)
    feeds, fetch = {model.graph.inputs[0].name: x.numpy()}, fetchable(model)
    passes, session = in_blocks(), oracle(model)
    session.run(feeds, fetch)
    noises = [Noise(seed=seed, rounding=True) for seed in range(3)]
    alone = [session.run(feeds, fetch, noise=noise) for noise in noises]
    passes.clear()
    together = session.run_many([RunRequest(feeds=feeds, fetch=fetch, noise=n) for n in noises])
    assert passes == [9, 9, 9]
    for one, other in zip(alone, together, strict=True):
        for name in fetch:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-13, atol=1e-15)
    outputs = {found[fetch[-1]].tobytes() for found in together}
    assert len(outputs) == 3


def test_draws_on_other_inputs_share_the_pass_over_each_matrix_and_that_over_its_sizes(in_blocks):
    x = torch.randn(3, 6)
    model = load(Products(), x)
    name, fetch = model.graph.inputs[0].name, fetchable(model)
    passes, session = in_blocks(), oracle(model)
    noises = [Noise(seed=seed, rounding=True) for seed in range(2)]
    given = [{name: x.numpy() + shift} for shift in range(2)]
    alone = [session.run(feeds, fetch, noise=noise) for feeds in given for noise in noises]
    passes.clear()
    requests = [RunRequest(feeds=one, fetch=fetch, noise=n) for one in given for n in noises]
    together = session.run_many(requests)
    assert passes == [12, 6] * 3, "four draws, and the sizes of two inputs"
    for one, other in zip(alone, together, strict=True):
        for name in fetch:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-12, atol=1e-12)


def test_a_disturbed_or_fed_matrix_is_not_that_of_other_draws(in_blocks):
    x = torch.randn(3, 6)
    model = load(Products(), x)
    name, fetch = model.graph.inputs[0].name, fetchable(model)
    weight = next(each for each in model.graph.constants if "first" in each and "weight" in each)
    feeds = {name: x.numpy()}
    noise = Noise(seed=1, constants=(weight,))
    whole = oracle(model).run(feeds, fetch, noise=noise)
    replaced = {**feeds, weight: np.ones((8, 6))}
    fed = oracle(model).run(replaced, fetch)
    in_blocks()
    session = oracle(model)
    assert not np.array_equal(session.run(feeds, fetch)[fetch[-1]], whole[fetch[-1]])
    for given, drawn, expected in ((feeds, noise, whole), (replaced, None, fed)):
        found = session.run(given, fetch, noise=drawn)
        np.testing.assert_allclose(found[fetch[-1]], expected[fetch[-1]], rtol=1e-13)
