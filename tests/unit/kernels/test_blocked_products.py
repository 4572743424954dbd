"""Products in blocks: the right numbers, and the same ones with any number of threads."""

import numpy as np
import pytest

from isomorph.core.threads import use_threads
from isomorph.kernels import blocked_products
from isomorph.kernels.blocked_products import matrix_product

SHAPES = [(3, 5, 7), (600, 64, 300), (300, 64, 1100), (512, 300, 512), (1030, 128, 1)]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(blocked_products, "_BLOCK_WORK", 1 << 12)
    yield
    use_threads(1)


@pytest.mark.parametrize(("rows", "inner", "columns"), SHAPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_the_product_is_the_same_bit_by_bit_with_any_number_of_threads(
    rows, inner, columns, transposed
):
    random = np.random.default_rng(0)
    a = random.normal(size=(rows, inner))
    b = (
        random.normal(size=(columns, inner)).T
        if transposed
        else random.normal(size=(inner, columns))
    )
    found = []
    for count in (1, 2, 4):
        use_threads(count)
        found.append(matrix_product(a, b))
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-12, atol=1e-12)
    assert all(np.array_equal(each, found[0]) for each in found)


def test_the_product_is_written_where_it_is_wanted():
    a, b = np.ones((700, 8)), np.ones((8, 3))
    out = np.zeros((700, 3))
    assert matrix_product(a, b, out=out) is out
    assert (out == 8).all()


@pytest.mark.parametrize(("length", "work"), [(10, 1 << 40), (1000, 1 << 40), (100_000, 1 << 40)])
def test_blocks_cover_an_axis_once(length, work):
    cuts = blocked_products._cuts(length, work)
    assert [place for cut in cuts for place in range(cut.start, cut.stop)] == list(range(length))
    assert len(cuts) <= 16


def test_a_small_product_is_one_block():
    assert blocked_products._cuts(4096, 1 << 10) == [slice(0, 4096)]


def test_integers_are_multiplied_as_they_are():
    a = np.arange(1200, dtype=np.int64).reshape(600, 2)
    assert np.array_equal(matrix_product(a, a[:2]), a @ a[:2])
