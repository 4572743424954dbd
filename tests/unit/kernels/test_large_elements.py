"""Elementwise functions in parts: the same bits as in one, whatever the shapes."""

import numpy as np
import pytest

from isomorph.core.threads import use_threads
from isomorph.kernels import large_elements
from isomorph.kernels.large_elements import copied, elementwise


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(large_elements, "_LARGE", 1 << 6)
    monkeypatch.setattr(large_elements, "_PART", 1 << 4)
    yield
    use_threads(1)


def drawn(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


SHAPES = [
    [(1, 7, 5, 6), (1, 7, 1, 1)],
    [(5, 6), (1, 7, 1, 1, 1)],
    [(200,), (200,)],
    [(200,), ()],
    [(40, 30), (30,)],
    [(3, 4), (3, 4)],
    [(0, 4), (1, 4)],
    [(), ()],
]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_function_of_two_arrays_is_that_of_numpy(shapes, threads):
    use_threads(threads)
    a, b = (drawn(*shape) for shape in shapes)
    for function in (np.add, np.multiply, np.divide, np.maximum):
        found = elementwise(function, a, b)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, function(a, b), strict=True)


def test_large_arrays_are_cut_and_small_ones_are_not():
    use_threads(2)
    sizes = []

    def doubled(x):
        sizes.append(x.size)
        return 2.0 * x

    np.testing.assert_array_equal(elementwise(doubled, drawn(1, 8, 50)), 2.0 * drawn(1, 8, 50))
    assert sum(sizes) == 400
    assert max(sizes) == 50
    sizes.clear()
    elementwise(doubled, drawn(5, 5))
    assert sizes == [25]


def test_other_types_are_left_to_numpy():
    use_threads(2)
    whole, real = np.arange(100).reshape(10, 10), drawn(10, 10)
    np.testing.assert_array_equal(elementwise(np.add, whole, whole), whole + whole, strict=True)
    np.testing.assert_array_equal(elementwise(np.add, whole, real), whole + real, strict=True)


def test_what_a_part_divides_by_zero_raises_no_warning():
    use_threads(2)
    assert np.isinf(elementwise(np.divide, np.ones((10, 10)), np.zeros((10, 10)))).all()


@pytest.mark.parametrize("threads", [1, 4])
def test_a_copy_is_a_copy(threads):
    use_threads(threads)
    x, into = drawn(1, 6, 30), np.zeros((1, 6, 40))
    copied(x, into[..., 5:35])
    np.testing.assert_array_equal(into[..., 5:35], x)
    assert not into[..., :5].any()
    assert not into[..., 35:].any()
