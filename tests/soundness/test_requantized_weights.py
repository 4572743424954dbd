"""Weights in other blocks are a measured loss, and a wrong number among them is found."""

import pytest

import isomorph
from requantized_weights import MAKERS, pair


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("maker", MAKERS)
def test_only_a_wrong_number_makes_another_function(maker, seed):
    made = pair(maker, seed)
    report = isomorph.check(made.reference, made.candidate, inputs=made.inputs, in_process=True)
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not made.same, report.reason
    assert report.verdict is not isomorph.Verdict.UNKNOWN, report.reason
    if made.same and maker == "other_blocks":
        assert report.verdict is isomorph.Verdict.DEGRADED
        assert report.outputs[0].intended_loss is not None
