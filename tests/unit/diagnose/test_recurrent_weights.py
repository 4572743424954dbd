"""Weights of recurrent nodes, stacked from another framework's and put in another order."""

import numpy as np

from isomorph.diagnose.recurrent_weights import in_order, likely_order, singles, stacked


def test_single_matrices_are_stacked_direction_by_direction():
    hidden, width = 2, 3
    gates = {name: np.full((hidden, width), place) for place, name in enumerate("ifgo")}
    forward = np.concatenate([gates[name] for name in "ifgo"]).astype(float)
    known = [forward, forward + 10, np.arange(8.0), np.arange(8.0) + 100]
    (single,) = stacked((1, 8, 3), known[:1] + known[2:], (0, 3, 1, 2))
    assert single[0, ::hidden, 0].tolist() == [0, 3, 1, 2]
    (both,) = stacked((2, 8, 3), known, (0, 3, 1, 2))
    assert both[1, ::hidden, 0].tolist() == [10, 13, 11, 12]
    (bias,) = stacked((1, 16), known, (0, 3, 1, 2))
    assert bias[0, ::hidden].tolist() == [0, 6, 2, 4, 100, 106, 102, 104]


def test_a_transposed_matrix_is_turned():
    kernel = np.arange(24.0).reshape(3, 8)
    (whole,) = stacked((1, 8, 3), [kernel], (0, 1, 2, 3))
    assert np.array_equal(whole[0], kernel.T)


def test_blocks_that_do_not_divide_stay_as_they_are():
    value = np.arange(7.0)
    assert np.array_equal(in_order(value, (1, 0)), value)


def test_the_order_of_gates_is_seen_in_the_blocks_that_are_right():
    right = np.arange(24.0).reshape(8, 3) + 1.0
    packed = in_order(right, (2, 0, 3, 1))[np.newaxis]
    assert likely_order(packed, [right], 4) == (2, 0, 3, 1)
    packed[0, 2:4] *= -1.0  # one gate is wrong
    assert likely_order(packed, [right], 4) == (2, 0, 3, 1)
    packed[0, 6:] *= -1.0
    assert likely_order(packed, [right], 4) is None


def test_both_biases_may_be_one():
    one, other = np.arange(8.0), np.arange(8.0) + 100
    (joined,) = stacked((1, 8), [one, other], (1, 0, 2, 3))
    assert joined[0].tolist() == in_order(one + other, (1, 0, 2, 3)).tolist()
    assert likely_order(joined, [one, other], 4) == (1, 0, 2, 3)


def test_directions_are_taken_apart():
    kernel, bias = np.arange(48.0).reshape(2, 8, 3), np.arange(32.0).reshape(2, 16)
    found = list(singles([kernel, bias], 4))
    assert [each.shape for each in found] == [(8, 3), (8, 3), (8,), (8,), (8,), (8,)]
    assert np.array_equal(found[3], bias[0, 8:])
