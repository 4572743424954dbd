"""Real numbers with noise: what a draw names is disturbed, and equal draws are equal."""

import numpy as np

from isomorph.core.trace import Noise
from isomorph.oracle.arithmetic import NoisyArithmetic, arithmetic_of
from isomorph.oracle.magnitudes import KeptSizes
from isomorph.oracle.value import EvalValue
from one_step import HALF, rounding_step


def results(noise):
    step, call = rounding_step()
    arithmetic = arithmetic_of(noise, KeptSizes())
    assert isinstance(arithmetic, NoisyArithmetic)
    return float(arithmetic.compute(step, call, [HALF])[0][0])


def test_a_result_moves_by_a_rounding_of_its_declared_type():
    exact = 0.5 + 1e-12
    found = [results(Noise(seed=seed, rounding=True)) for seed in range(8)]
    assert 0 < max(abs(each - exact) for each in found) < 2.0**-23
    assert found == [results(Noise(seed=seed, rounding=True)) for seed in range(8)]


def test_without_rounding_a_result_stays():
    assert results(Noise(seed=1, constants=("w",))) == 0.5 + 1e-12


def test_a_constant_that_the_noise_names_moves():
    value = EvalValue(np.float32([0.1]), dtype="float32", constant=True)
    arithmetic = NoisyArithmetic(Noise(seed=1, constants=("w",)), KeptSizes())
    moved = abs(float(arithmetic.stored("w", value).wide()[0]) - float(np.float32(0.1)))
    assert 0 < moved < 1e-8
    assert arithmetic.stored("v", value) is value
