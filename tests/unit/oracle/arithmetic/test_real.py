"""Real numbers: nothing is disturbed, whatever a node rounds."""

import numpy as np

from isomorph.oracle.arithmetic import RealArithmetic, arithmetic_of
from isomorph.oracle.magnitudes import KeptSizes
from isomorph.oracle.value import EvalValue
from one_step import HALF, rounding_step


def test_results_are_those_of_float64():
    arithmetic = arithmetic_of(None, KeptSizes())
    assert isinstance(arithmetic, RealArithmetic)
    step, call = rounding_step()
    (found,) = arithmetic.compute(step, call, [HALF])
    assert found.dtype == np.float64
    assert found.tolist() == [0.5 + 1e-12]


def test_constants_are_the_declared_ones():
    step, call = rounding_step()
    value = EvalValue(np.float32([0.5]), dtype="float32", constant=True)
    arithmetic = RealArithmetic()
    assert arithmetic.constants(step, call, [HALF], [value]) == [value]
    assert arithmetic.stored("w", value) is value
