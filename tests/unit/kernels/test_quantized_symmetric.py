"""The loss that a grid around zero intends: its steps reach as far below zero as above."""

import numpy as np
import pytest

from isomorph.kernels.quantized import requantize
from isomorph.oracle.call import Call
from one_node import rounding

GELU = np.concatenate([np.linspace(-0.17, 0.0, 1000), np.linspace(0.0, 1.83, 1000)])


def lost(zero, dtype, scale, values=GELU):
    """The deviation of draws of an ideal quantizer, in steps of the grid."""
    call = Call(op="QuantizeLinear", noise=rounding(1, quantizers=True, unit=0.0))
    drawn = requantize(values, np.float32(scale), np.asarray(zero), dtype, None, call)
    return np.std((drawn - zero) - values / scale) * np.sqrt(12.0)


@pytest.mark.parametrize(("zero", "dtype", "top"), [(0, "int8", 127), (128, "uint8", 127)])
def test_a_grid_around_zero_may_lose_half_of_its_own_step(zero, dtype, top):
    assert lost(zero, dtype, 1.83 / top) == pytest.approx(1.0, rel=0.05)


def test_it_may_not_be_wider_than_the_tensor_needs():
    assert lost(0, "int8", 4 * 1.83 / 127) == pytest.approx(0.25, rel=0.05)


def test_a_grid_with_another_zero_is_held_against_the_range_of_the_tensor():
    assert lost(22, "uint8", 2.0 / 255) == pytest.approx(1.0, rel=0.05)
    assert lost(22, "uint8", 4.0 / 255) == pytest.approx(0.5, rel=0.05)
