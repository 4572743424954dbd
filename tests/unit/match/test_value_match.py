"""Weights in every arrangement that a conversion may store them in."""

import numpy as np

from isomorph.match.value_match import weight_arrangements


def test_a_kernel_by_channel_and_multiplier_as_one_row_of_channels():
    kernel = np.arange(3 * 3 * 4 * 2).reshape(3, 3, 4, 2)
    wanted = kernel.transpose(2, 3, 0, 1).reshape(8, 1, 3, 3)
    assert any(np.array_equal(each, wanted) for each in weight_arrangements(kernel, (8, 1, 3, 3)))
