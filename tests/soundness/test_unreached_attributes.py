"""An attribute that no given input shows is found, and one without effect is not accused."""

import pytest
from unreached_attributes import MAKERS, pair

import isomorph

ONLY_GIVEN = isomorph.CheckOptions(only_given=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("maker", MAKERS)
def test_only_an_attribute_with_an_effect_makes_another_function(maker, seed):
    made = pair(maker, seed)
    report = isomorph.check(made.reference, made.candidate, inputs=made.inputs, in_process=True)
    assert (report.verdict is isomorph.Verdict.DIVERGENT) is not made.same, report.reason
    assert report.verdict is not isomorph.Verdict.UNKNOWN, report.reason


@pytest.mark.parametrize("maker", MAKERS)
def test_the_given_inputs_alone_show_none_of_them(maker):
    made = pair(maker, 1)
    report = isomorph.check(
        made.reference, made.candidate, inputs=made.inputs, in_process=True, options=ONLY_GIVEN
    )
    assert report.verdict in {isomorph.Verdict.EQUIVALENT, isomorph.Verdict.DEGRADED}
