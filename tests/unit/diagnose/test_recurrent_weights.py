"""Weights of recurrent nodes, stacked from another framework's and put in another order."""

import numpy as np

from isomorph.diagnose.recurrent_weights import in_order, stacked


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
