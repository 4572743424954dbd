"""A constant that no input shows is found, and faithful pairs of the same kind pass."""

import numpy as np
import pytest

import isomorph
from unreached import F32, MAKERS, model, node, pair


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("maker", MAKERS)
def test_only_a_wrong_constant_makes_another_function(maker, seed):
    made = pair(maker, seed)
    report = isomorph.check(made.reference, made.candidate, inputs=made.inputs, in_process=True)
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not made.same, report.reason
    assert report.verdict is not isomorph.Verdict.UNKNOWN, report.reason


@pytest.mark.parametrize(("budget", "verdict"), [(0.1, "equivalent"), (0.001, "divergent")])
def test_a_stated_budget_is_not_asked_of_larger_inputs(budget, verdict):
    """A factor off by 1% is off by 0.03 at most where the inputs are at most 3."""
    sides = [
        model(
            [node("Mul", "x k", "y")],
            {"x": (F32, (2, 3))},
            {"y": (F32, (2, 3))},
            {"k": np.float32([factor] * 3)},
        )
        for factor in (1.0, 1.01)
    ]
    given = np.float32([[1, 2, 3], [-1, -2, -3]])
    report = isomorph.check(*sides, inputs={"x": given}, budget=budget, in_process=True)
    assert report.verdict == verdict
