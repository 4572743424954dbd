"""A constant that no input shows is found, and faithful pairs of the same kind pass."""

import pytest
from tests.soundness.unreached import MAKERS, pair

import isomorph


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("maker", MAKERS)
def test_only_a_wrong_constant_makes_another_function(maker, seed):
    made = pair(maker, seed)
    report = isomorph.check(made.reference, made.candidate, inputs=made.inputs, in_process=True)
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not made.same, report.reason
    assert report.verdict is not isomorph.Verdict.UNKNOWN, report.reason
