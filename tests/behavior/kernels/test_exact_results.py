"""Results that no arithmetic rounds stay where they are under noise: a tie between them is none."""

import numpy as np
import pytest

from isomorph.kernels.registry import find, load_all
from isomorph.kernels.softmax import log_softmax
from isomorph.oracle.call import Call
from isomorph.oracle.noise import NO_NOISE, UNIT_ROUNDOFF, Rounding

load_all()


def disturbed(op, x, **attributes):
    """The operator on ``x``, without noise and with it."""
    source = Rounding(3)
    source.enter(("node",), UNIT_ROUNDOFF["float32"])
    results = []
    for noise in (NO_NOISE, source):
        call = Call(op=op, domain="", attributes=attributes, outputs=1, noise=noise)
        results.append(np.asarray(find("", op, 24)(call, x)))
    return results


@pytest.mark.parametrize("op", ["Exp", "Tanh", "Erf", "Sigmoid", "Elu", "Sin", "Cos"])
def test_functions_are_exact_at_zero_and_nowhere_else(op):
    silent, noisy = disturbed(op, np.array([0.0, 0.0, -0.7, -0.3]))
    assert np.array_equal(silent[:2], noisy[:2])
    assert (silent[2:] != noisy[2:]).all()


@pytest.mark.parametrize("op", ["Gelu", "Swish", "Mish"])
def test_a_gate_behind_a_mask_is_shut(op):
    silent, noisy = disturbed(op, np.array([-3.4e38, -1e9, 0.7]))
    assert np.array_equal(silent[:2], noisy[:2])
    assert silent[2] != noisy[2]


def test_the_logarithm_of_a_single_share_is_zero():
    source = Rounding(3)
    source.enter(("node",), UNIT_ROUNDOFF["float32"])
    assert not log_softmax(np.array([[0.3], [-7.1]]), 1, source).any()


def test_subnormal_numbers_round_by_their_spacing():
    source = Rounding(3)
    source.enter(("node",), UNIT_ROUNDOFF["float32"])
    small = np.full(2000, 3.3e-40)
    moved = source.rounded(small) - small
    assert np.std(moved) == pytest.approx(2.0**-150, rel=0.1)
    assert not source.rounded(np.zeros(5)).any()
