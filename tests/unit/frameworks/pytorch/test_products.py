"""Products of the oracle: those of torch, by a kernel whose bits no number of threads changes."""

import numpy as np
import pytest
import torch

from isomorph.core.threads import use_threads
from isomorph.frameworks.pytorch.products import multiplied
from isomorph.frameworks.pytorch.program import Step
from isomorph.kernels import blocked_products

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
