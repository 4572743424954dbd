"""Sizes answer what holds for every size, and nothing else."""

import math

import numpy as np
import pytest

from isomorph.proof.sizes import (
    LARGEST_SIZE,
    Symbol,
    UndecidedSizeError,
    broadcast_shapes,
    dense,
    kept_places,
    one,
    same,
    symbolic,
    tried,
    whole,
)


@pytest.fixture
def symbol():
    return Symbol("n", 7)


@pytest.fixture
def n(symbol):
    return symbolic(symbol)


def other():
    return symbolic(Symbol("m", 7))


def test_arithmetic_is_that_of_polynomials(n):
    assert tried((n + 1) * 3 - n) == 17
    assert n * 4 // 4 is not None
    assert same([n * 4 // n, (n + 1) * (n + 2) // (n + 1)], [4, n + 2])
    assert (n - n, n * 0, n * 6 % 3) == (0, 0, 0)
    assert same([math.prod((2, n, 3)), sum((n, n, 1))], [6 * n, 2 * n + 1])


@pytest.mark.parametrize("ask", [
    lambda n: n // 2, lambda n: n % 7, lambda n: 14 // n, lambda n: 14 % n, lambda n: (n + 1) // n,
    lambda n: n == 7, lambda n: n != 7, lambda n: n < 100, lambda n: n >= 8,
    lambda n: n == 7.0, lambda n: n < 7.5, lambda n: n == other(), lambda n: n <= other(),
    int, float, range, lambda n: [1, 2][n], np.zeros,
    lambda n: np.array([n], np.int64), lambda n: np.array([n, 2], object).astype(int),
    lambda n: max(n, 5), lambda n: min(n, 100), lambda n: {7: 1}.get(7) if n == 7 else 0,
    lambda n: (n, 4) == (7, 4), lambda n: np.equal(np.array([n], object), 7),
    lambda n: bool(n - 7), lambda n: n == True,  # noqa: E712
])  # fmt: skip
def test_what_sizes_answer_differently_is_refused(n, ask):
    with pytest.raises(UndecidedSizeError):
        ask(n)


@pytest.mark.parametrize("ask", [
    lambda n: n / 2, lambda n: n * 0.5, math.sqrt, np.arange, lambda n: 2**n,
    lambda n: n << 1, round,
])  # fmt: skip
def test_other_arithmetic_is_refused(n, ask):
    with pytest.raises((UndecidedSizeError, TypeError)):
        ask(n)


def test_comparisons_that_hold_for_every_size_are_answered(n, symbol):
    assert n > 0
    assert n >= 1
    assert n
    assert n != 0
    assert n != -1
    assert n + 1 > n
    assert n < 2**31 - 1
    assert (n, 4) == (n, 4)
    assert max(n, 0) is n
    assert n != "n"
    assert n * other() >= 1
    assert symbol.least == 1


def test_what_one_row_alone_answers_otherwise_leaves_sizes_from_two_on(n, symbol):
    assert n != 1
    assert symbol.least == 2
    with pytest.raises(UndecidedSizeError):
        assert n != 2


def test_the_largest_size_is_below_what_files_mean_by_the_end(n):
    assert LARGEST_SIZE < 2**31 - 1
    with pytest.raises(UndecidedSizeError):
        assert 2 * n < 2**31 - 1


def test_shapes_are_the_same_only_for_every_size(n):
    assert same((n, 4), (n, 4))
    assert not same((n, 4), (7, 4))
    assert not same((n,), (other(),))
    assert not same((n,), (n, 1))
    assert one(1)
    assert not one(n)
    assert dense((n, 3, 2 * n)) == (1, 3, 1)


def test_shapes_broadcast_as_those_of_numpy(n):
    for shapes in (((2, 1), (3,)), ((), (4, 1)), ((1,), (1, 5)), ((0,), (1,))):
        assert broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)
    with pytest.raises(ValueError, match="fit"):
        broadcast_shapes((2,), (3,))
    assert same(broadcast_shapes((n, 1), (1, 4), (4,)), (n, 4))
    with pytest.raises(UndecidedSizeError):
        broadcast_shapes((n,), (7,))
    with pytest.raises(UndecidedSizeError):
        broadcast_shapes((n,), (other(),))


@pytest.mark.parametrize(("start", "end", "step"), [
    (0, 3, 1), (None, None, 1), (-2, None, 1), (1, -1, 2), (5, 2, 1), (0, 2**63 - 1, 1),
    (None, None, -1), (-100, 100, 3),
])  # fmt: skip
def test_what_a_slice_keeps_is_what_python_keeps(start, end, step):
    kept = list(range(7))[start:end:step]
    first, count = kept_places(7, start, end, step)
    assert count == len(kept)
    assert not kept or first == kept[0]


def test_a_slice_of_an_axis_of_any_size(n):
    assert same(kept_places(n, 0, 2**63 - 1), (0, n))
    assert same(kept_places(n, None, n), (0, n))
    assert same(kept_places(n, -1, None), (n - 1, 1))
    assert same(kept_places(2 * n, n, None), (n, n))
    for start, end, step in ((0, 7, 1), (0, 100, 1), (3, None, 1), (-7, None, 1), (0, None, 2)):
        with pytest.raises(UndecidedSizeError):
            kept_places(n, start, end, step)


def test_sizes_that_were_tried_stand_in_the_place_of_symbols(n):
    assert tried(((n, 2), "name", (3 * n + 1,))) == ((7, 2), "name", (22,))
    assert whole(np.int64(3)) == 3
    assert whole(n) is n
    assert str(2 * n * other() + n + 3) == "n + 2·m·n + 3"
